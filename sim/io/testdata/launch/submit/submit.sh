#!/bin/bash
# Completes the run of a model by a table and a YAML file, and submits it.
set -euo pipefail
export ROOT=$(dirname "$(readlink -f "$0")")
source "${ROOT}/conf/table.conf"

FLAGS_FILE="${ROOT}/conf/${MODEL}.yaml"
if [[ -f ${FLAGS_FILE} ]]; then
    envsubst < ${FLAGS_FILE} > ${FLAGS_FILE}.tmp
    FLAGS_FILE=${FLAGS_FILE}.tmp
else
    echo "no ${FLAGS_FILE}"
    exit 1
fi

FLAGS=$(yq '... comments="" | .MODEL_ARGS | to_entries | .[] |
    select(.value != "false") |
    with(select(.value == "true"); .value = "") |
    [.key + " " + .value] | join("")' ${FLAGS_FILE} | tr '\n' ' ')
if [[ $# -gt 0 ]]; then
    FLAGS="${FLAGS} $@"
fi

while IFS='=' read -r KEY VALUE; do
    if [[ -n ${KEY} ]]; then
        export "${KEY}"="${VALUE}"
    fi
done < <(yq '.ENV_VARS | to_entries | .[] | [.key + "=" + .value] | join(" ")' ${FLAGS_FILE})

if [[ ${VP} -gt 1 ]]; then
    if [[ ! "${FLAGS}" =~ "--pipeline-model-parallel-layout" ]] && \
       [[ ! "${FLAGS}" =~ "--num-layers-per-virtual-pipeline-stage" ]]; then
        FLAGS="${FLAGS} --num-virtual-stages-per-pipeline-rank ${VP}"
    fi
fi
if [[ ${PR:-bf16} == "fp8" ]]; then
    FLAGS="${FLAGS} --fp8-recipe blockwise --fp8-format e4m3"
fi

export COMMAND="python pretrain_gpt.py ${FLAGS}"
mkdir -p logs || {
    echo "no folder"
    exit 1
}
sbatch <<EOF
#!/bin/bash

#SBATCH --nodes=${NODES}
#SBATCH --ntasks-per-node=8

srun \
    --mpi=pmix -l \
    bash -c \\\${COMMAND} 2>&1 | tee logs/\${SLURM_JOB_ID}.log
EOF
