// SPDX-License-Identifier: BSD-3-Clause
// Takes and stops the steps of a table.
#include "start_steps.h"

static aq_status_t take(const aq_start_step_t *step, const aq_job_request_t *request)
{
    if (step->join)
        return step->join(request);
    step->start();
    return AQ_OK;
}

aq_status_t aq_steps_start(const aq_start_step_t *table, const aq_job_request_t *request)
{
    aq_status_t status = AQ_OK;
    for (const aq_start_step_t *step = table; status == AQ_OK && step->name; step++)
        status = take(step, request);
    return status;
}

void aq_steps_stop(const aq_start_step_t *table, aq_start_phase_t phase)
{
    for (const aq_start_step_t *step = table; step->name; step++)
        if (step->phase == phase && step->stop)
            step->stop();
}
