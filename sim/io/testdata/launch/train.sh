#!/bin/bash
# A small training of a GPT: arrays, defaults, arithmetic, a condition, and a file with more flags.
#SBATCH --nodes=2 --ntasks-per-node=8
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-"2"}
TP=4
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
DP=$((WORLD_SIZE / TP))
CHECKPOINT=$1
source "$(dirname "${BASH_SOURCE[0]}")/flags.sh"

LAUNCH=(
    --nproc_per_node $GPUS_PER_NODE   # of one machine
    --nnodes $NNODES
    --node_rank ${NODE_RANK:-0}
)
TRAINING=(
    --micro-batch-size 2
    --global-batch-size $((2 * DP * 8))
    --lr 3e-4 --train-iters 1000 --bf16
    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
)
if [ -n "${WANDB_KEY}" ]; then
    TRAINING+=(--wandb-project mine)
fi
if [[ $TP -gt 1 ]]; then
    TRAINING+=(--sequence-parallel)
fi

torchrun ${LAUNCH[@]} pretrain_gpt.py \
    ${MODEL[@]} \
    "${TRAINING[@]}" \
    --tensor-model-parallel-size ${TP} \
    --save $CHECKPOINT --load "$CHECKPOINT/last" 2>&1 | tee log.txt
