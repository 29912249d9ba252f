// SPDX-License-Identifier: BSD-3-Clause
// Registers the handlers and tasks of messages with two sides; extended/rma/layer_table.c calls it
// when the job starts. msg_device.c, and msg_rndv_get.c for pieces in place, have entries of their
// own there.
#include "../../extended/rma/layer_table.h"
#include "msg_credits.h"
#include "msg_send.h"
#include "msg_recv.h"
#include "msg_cancel.h"
#include "msg_rndv_get.h"
#include "msg_coop_copy.h"

void aq_msg_register(void)
{
    aq_msg_credits_register();
    aq_msg_send_register();
    aq_msg_recv_register();
    aq_msg_cancel_register();
    aq_msg_rndv_get_register();
    aq_msg_coop_copy_register();
}
