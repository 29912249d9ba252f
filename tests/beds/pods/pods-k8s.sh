#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-k8s: spawner k8s in the pods of a StatefulSet, an indexed Job and a JobSet, as
# tests/beds/pods makes them: bare programs, and the launcher in each pod; its faults; and the
# recipes of examples/clusters.
set -u
. "$AQ_SRC/tests/spawner/rendezvous/rendezvous-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
cp "$AQ_BUILD/conform_exit_udp" "$work/conform_exit" || exit 1
conform=$work/conform_exit
launcher=$AQ_BUILD/gasnetrun_udp
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_SSH_CMD=/no/ssh GASNET_CONNECT_TIMEOUT=20 GASNET_WAITMODE=block
export KUBERNETES_SERVICE_HOST=10.96.0.1

# in_pod NUMBER command ...: without the job's processes, which call starts.
in_pod()
{
    nsenter -t "$(cat "$AQ_PODS/web-$1")" -a "${@:2}"
}

# pods command ...: the same in all three pods, the last one first.
pods()
{
    local pod
    rm -f "$work"/*.out "$work"/*.err
    for pod in 2 1 0; do
        in_pod $pod "$@" >"$work/$pod.out" 2>"$work/$pod.err" </dev/null &
        process[$pod]=$!
    done
}

# over CODE: all end with that code.
over()
{
    ends "$1" "${!process[@]}"
    no_rank_left 100
}

for variable in GASNET_SPAWNER GASNET_UDP_SPAWNER; do
    pods env $variable=k8s GASNET_SIZE=3 "$conform" pid
    over 0
    told
    here 3
    for pod in 0 1 2; do
        grep -q "^$pod " "$work/$pod.out" || fault "pod $pod does not have rank $pod"
    done
done
pods "$launcher" -spawner=k8s -n 3 "$conform" one 1 5
over 5
pods env GASNET_SPAWNER=k8s "$launcher" -n 3 "$AQ_BUILD/conform-seq" query_position am_args
over 0
pods env GASNET_SIZE=3 GASNET_POD_SERVICE=mesh.space.svc.cluster.local:5011 "$launcher" -v -spawner=k8s "$conform" pid
over 0
grep -q 'boot module .*/aq_spawn_k8s.so' "$work/0.out" || fault "-v does not name the module"
sed -i '/^gasnetrun:/d' "$work"/*.out
here 3

# An indexed Job and a JobSet: the host name has the index too.
for pod in 0 1 2; do
    in_pod $pod hostname train-workers-0-$pod
    echo "10.78.0.$((pod + 1)) train-workers-0-$pod.mesh.space.svc.cluster.local train-workers-0-$pod" >>/etc/hosts
done
pods sh -c 'JOB_COMPLETION_INDEX=$(hostname | sed s/.*-//) exec "$@"' sh "$launcher" -spawner=k8s -n 3 "$conform" pid
over 0
here 3

# alone TEXT variables command ...: one pod is told what it lacks.
alone()
{
    local text=$1
    shift
    expect 2 in_pod 1 env "$@" "$launcher" -spawner=k8s "${size[@]}" "$conform" pid
    says "$text"
}
size=(-n 3)
alone "this is no pod of Kubernetes (KUBERNETES_SERVICE_HOST is not set)" -u KUBERNETES_SERVICE_HOST
alone "does not end with its number" JOB_COMPLETION_INDEX=2
expect 1 in_pod 1 env GASNET_SIZE=4 "$launcher" -spawner=k8s -n 3 "$conform" pid
says 'spawner k8s: option -n is 3, but GASNET_SIZE is 4: give the number of pods once'
expect 1 in_pod 1 "$launcher" -spawner=k8s "$conform" pid
says 'the number of pods is not known: set GASNET_SIZE to the replicas or completions'
expect 65 in_pod 1 env GASNET_SPAWNER=k8s "$conform" pid
says 'the number of pods is not known'
expect 2 in_pod 1 "$launcher" -spawner=k8s -n 3 -H a "$conform" pid
says 'option -H: spawner k8s joins this process to others'
in_pod 1 hostname node17
alone "does not end with its number, as in a StatefulSet, an indexed Job or a JobSet (node17)"
expect 1 in_pod 1 env POD_NAME=web-1 GASNET_SIZE=4 "$launcher" -spawner=k8s -n 3 "$conform" pid
says 'option -n is 3'
in_pod 1 hostname lonely-1
expect 1 in_pod 1 "$launcher" -spawner=k8s -n 3 "$conform" pid
says 'the full name of pod lonely-1 is not known: give the StatefulSet or Job a headless service'
mv /etc/gasnet/key /etc/gasnet/aside
in_pod 1 hostname web-1
expect 1 in_pod 1 "$launcher" -spawner=k8s -n 3 "$conform" pid
says 'the key of the job cannot be read, /etc/gasnet/key: No such file or directory: mount a Secret there'

mv /etc/gasnet/aside /etc/gasnet/key

# recipe FILE HOST-: what the file says for each pod, in a job of four.
recipe()
{
    local pod words
    rm -f "$work"/*.out "$work"/*.err
    mapfile -t words < <("$AQ_SRC/tests/beds/pods/recipe" "$AQ_SRC/examples/clusters/$1")
    [ ${#words[@]} = 4 ] || fail "$1 is not for four pods"
    for pod in 3 2 1 0; do
        in_pod $pod hostname "$2$pod"
        in_pod $pod env "JOB_COMPLETION_INDEX=$pod" sh -c "${words[pod]}" >"$work/$pod.out" 2>"$work/$pod.err" </dev/null &
        process[$pod]=$!
    done
    wait_ready 4
    for pod in 0 1 2 3; do
        grep -q "^Hello from rank $pod of 4" "$work/$pod.out" || fault "$1: pod $pod does not have rank $pod"
    done
}

python3 -c 'import yaml' 2>/dev/null || {
    left_out "the recipes of examples/clusters" "python3 cannot import yaml (package python3-yaml)"
    exit 0
}
for pod in 0 1 2 3; do
    echo "10.78.0.$((pod + 1)) hello-$pod.hello.space.svc.cluster.local hello-$pod rank$pod"
done >>/etc/hosts
mkdir /run/secrets && cp /etc/gasnet/key /run/secrets/key || exit 1
export GASNET_CONDUIT=udp PATH=$AQ_BUILD:$PATH
recipe job.yaml hello-
ends 0 0 1 2 3
recipe compose.yaml rank
ends 0 0 1 2 3
recipe statefulset.yaml hello- # these stay until the pods end
kill "${process[@]}"
process=()
exit 0
