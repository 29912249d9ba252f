// SPDX-License-Identifier: BSD-3-Clause
// The settings of conduit ofi, and how its jobs start; other/base/settings/profile.c lists it.
#include "ofi_profile.h"

// One row a variable. Clients and the manual quote the help: keep it true when behaviour changes.
const aq_setting_t aq_ofi_rows[OFI_SET_COUNT] = {
    [OFI_SET_SPAWNER] = {"GASNET_OFI_SPAWNER", AQ_TYPE_CHOICE, AQ_OFI_SPAWNER, 0, 0,
                         AQ_SPAWNER_CHOICES,
                         "As GASNET_SPAWNER, for conduit ofi only, where it takes precedence. "
                         "configure --with-ofi-spawner sets the default, which launchers follow "
                         "unless GASNET_SPAWNER is set."},
    [OFI_SET_PROVIDER] =
        {"GASNET_OFI_PROVIDER", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Conduit ofi: the provider of libfabric that carries messages, as gasnet_info and fi_info "
         "name it, for example 'tcp;ofi_rxm', also written as 'tcp:ofi_rxm' or 'tcp'. Empty: the "
         "first one that gasnet_info lists for such a job. All ranks need the same one. "
         "FI_PROVIDER hides providers from libfabric, and so from this choice."},
    [OFI_SET_DOMAIN] =
        {"GASNET_OFI_DOMAIN", AQ_TYPE_TEXT, "", 0, 0, NULL,
         "Conduit ofi: the domain of the provider, which is a network interface or a device, as "
         "gasnet_info names it; or its network or address, for example 192.0.2.0/24. Empty: the "
         "loopback interface if all processes are on one host, otherwise the domain that leads to "
         "the other hosts of the job, to GASNET_MASTERIP or to the default route."},
    [OFI_SET_RMA] =
        {"GASNET_OFI_RMA", AQ_TYPE_CHOICE, "auto", 0, 0, "auto 0 1",
         "Conduit ofi: whether the provider itself writes and reads memory of peers. 1: if it can; "
         "0: put, get and atomics travel in messages; auto: as 1, but as 0 with a provider in "
         "software where ranks share memory and do not poll on while they wait (GASNET_OFI_WAIT): "
         "such a rank sleeps until its neighbours wake it."},
    [OFI_SET_ATOMICS] =
        {"GASNET_OFI_ATOMICS", AQ_TYPE_CHOICE, "auto", 0, 0, "auto 0 1",
         "Conduit ofi: whether the provider performs remote atomics on 64-bit types, as far as it "
         "has them: addition, compare-and-swap, read. auto: as 0, because libfabric does not say "
         "whether they are atomic with respect to those of processors; 0: never, the target "
         "performs all of them; 1: for domains with no other operations, if all ranks say so: the "
         "program then guarantees that the ranks of the target's host do not access that memory "
         "meanwhile."},
    [OFI_SET_CREDITS_PP] = {"GASNET_OFI_CREDITS_PP", AQ_TYPE_INT, "128", 1, 256, NULL,
                            "Conduit ofi: requests that a process may have outstanding to each "
                            "peer, at most 256 to all peers together. The value at rank 0 counts."},
    [OFI_SET_COALESCE] =
        {"GASNET_OFI_COALESCE", AQ_TYPE_INT, "-1", -1, 4096, NULL,
         "Conduit ofi: longest put, in bytes, that travels in a message together with others. 0: "
         "none; -1: 4096 with a provider that works in software, else 0."},
    [OFI_SET_WAIT] =
        {"GASNET_OFI_WAIT", AQ_TYPE_CHOICE, "auto", 0, 0, "auto fd nap spin",
         "Conduit ofi: how a process that waits for long gives up its processor. fd: it sleeps on "
         "a descriptor of the provider, which then makes a system call for each completion; nap: "
         "it sleeps for short times; spin: it polls on. auto: fd if the host has more ranks than "
         "processors, or GASNET_WAITMODE is block or spinblock, else spin. A provider that has no "
         "such descriptor: nap in place of fd."},
    [OFI_SET_PATIENCE] =
        {"GASNET_OFI_PATIENCE", AQ_TYPE_INT, "30", 1, 3600, NULL,
         "Conduit ofi: seconds for which nothing moves between a process and a peer that has to "
         "take or answer something, before a notice names the peer. The job goes on."},
};

const aq_setting_group_t aq_ofi_settings = {"conduit ofi", aq_ofi_rows, OFI_SET_COUNT};

const aq_conduit_profile_t aq_ofi_profile = {
    .name = "ofi",
    .settings = &aq_ofi_settings,
    .spawner = &aq_ofi_rows[OFI_SET_SPAWNER],
    .spawners = AQ_SPAWNERS,
};
