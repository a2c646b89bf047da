# Two runs of a model of the table, started from the folder above.
export MODEL=small-moe
export MBS=1

PR=bf16 NODES=4 bash ./submit.sh --recompute-granularity selective --recompute-modules moe_act layernorm --expert-tensor-parallel-size 1
PR=fp8 TP=2 GBS=512 bash ./submit.sh --moe-router-pre-softmax --expert-tensor-parallel-size 1
