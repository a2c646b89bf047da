#!/bin/bash
: "${MINIBS:?MINIBS not set}"
: "${SEQ_PARALLEL:=True}"
: "${OVERLAP_GRAD_SYNC:=True}"
: "${MICRO_BATCH_SIZE:=4}"
