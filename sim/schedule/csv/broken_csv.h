// Broken schedule files for tests: each with the place of its first mistake, and a part of the complaint about it.
#pragma once

#include <string>

namespace foretoken::schedule {

struct BrokenCsv {
  const char* what;
  std::string text;
  int row, column;
  const char* complaint;
};

inline const BrokenCsv kBrokenCsvs[] = {
    // Cells.
    {"nothing", "", 1, 1, "found nothing; try 0F0,0B0"},
    {"blank lines only", "\n \r\n\n", 1, 1, "found nothing"},
    {"an empty first row", "\n0F0,0B0\n", 1, 1, "expected the actions of rank 0, found an empty row"},
    {"an empty row between others", "0F0,0B0\n\n1F0,1B0\n", 2, 1, "expected the actions of rank 1"},
    {"a row of idle cells", "0F0,0B0\n,,\n", 2, 1, "found an empty row; try to remove the row"},
    {"a word", "0F0,hello\n", 1, 2, "expected a stage, a word and a micro-batch, found \"hello\""},
    {"a header", "step 0,step 1\n0F0,0B0\n", 1, 1, "found \"step 0\"; try 0F1, or an empty cell"},
    {"the letter first", "F0,B0\n", 1, 1, "found \"F0\""},
    {"a negative stage", "0F0,-1B0\n", 1, 2, "found \"-1B0\""},
    {"a huge stage", "99999999999F0,0B0\n", 1, 1, "found \"99999999999F0\""},
    {"no micro-batch", "0F0,0B\n", 1, 2, "expected a micro-batch after 0B, found \"0B\"; try 0B0"},
    {"a negative micro-batch", "0F-1,0B0\n", 1, 1, "found \"0F-1\""},
    {"a broken micro-batch", "0F0x,0B0\n", 1, 1, "expected a micro-batch after 0F, found \"0F0x\"; try 0F0"},
    {"a huge micro-batch", "0F0,0B20000000\n", 1, 2, "expected a micro-batch after 0B"},
    {"an unknown letter", "0F0,0X0\n", 1, 2, "found \"0X0\"; try"},
    {"a small letter", "0F0,0b0\n", 1, 2, "REDUCE_GRAD, SEND_F, RECV_F, SEND_B, RECV_B or OVERLAP_F_B after the stage"},
    {"a misspelt word", "0SENDF0,0F0,0B0\n", 1, 1, "found \"0SENDF0\"; try SEND_F"},
    {"semicolons for commas", "0F0;0B0\n", 1, 1, "found \"0F0;0B0\""},
    {"a micro-batch of a gather", "0UNSHARD3,0F0,0B0\n", 1, 1, "expected no micro-batch after UNSHARD"},
    {"two actions in a cell", "0F0 0B0\n", 1, 1, "found \"0F0 0B0\""},
    {"bytes of no text", std::string("0F0,\x01\xff\0,0B0\n", 12), 1, 2, "found \"\\u0001\\xff\\u0000\""},
    // Pairs.
    {"a pair without its word", "0F0,0F1,(0F2;0B0),0B1,0B2\n", 1, 3, "expected a forward and a backward pass like"},
    {"an open bracket", "0F0,(0F1;0B0OVERLAP_F_B,0B1\n", 1, 2, "found \"(0F1;0B0OVERLAP_F_B\""},
    {"a pair of forwards", "(0F0;0F1)OVERLAP_F_B,0B0,0B1\n", 1, 1, "like (0F1;3B0)OVERLAP_F_B"},
    {"a pair with a message", "(0F0;0SEND_F0)OVERLAP_F_B,0B0\n", 1, 1, "expected a forward and a backward pass"},
    {"a pair of one", "0F0,(0B0)OVERLAP_F_B\n", 1, 2, "expected a forward and a backward pass"},
    {"three in a pair", "0F0,(0F1;0B0;0B1)OVERLAP_F_B\n", 1, 2, "expected a forward and a backward pass"},
    // Rows and stages.
    {"a stage in two rows", "0F0,0B0\n1F0,0F1,1B0\n", 2, 2,
     "expected stage 0 in row 1 only, where 0F0 stands, found 0F1"},
    {"a gap between stages", "0F0,0B0\n2F0,2B0\n", 2, 1, "found 2F0 and no action of stage 1; try stage 1"},
    {"stages from 1", "1F0,1B0\n2F0,2B0\n", 1, 1, "found 1F0 and no action of stage 0"},
    {"uneven rows", "0F0,2F0,2B0,0B0\n1F0,1B0\n", 2, 1,
     "expected as many stages in every row, found 1 here and 2 in row 1; try 4 stages over 2 rows"},
    {"a leap over a rank", "0F0,0B0\n2F0,2B0\n1F0,1B0\n3F0,3B0\n", 3, 1,
     "expected stage 1 in the row of stage 0 (row 1) or in a row beside it, found row 3; try stage 1 in row 2"},
    // Passes.
    {"no forward", "0F0,0B0,0B1\n", 1, 4, "expected 0F1 somewhere in this row"},
    {"no forward of the next stage", "0F0,0F1,0B0,0B1\n1F0,1B0,1B1\n", 2, 4,
     "expected 1F1 somewhere in this row, as stage 1 meets micro-batches 0 to 1"},
    {"no backward", "0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n", 1, 4, "expected 0B1 somewhere in this row"},
    {"gathers alone", "0UNSHARD,0RESHARD\n", 1, 3, "expected 0F0 somewhere in this row"},
    {"a gap between micro-batches", "0F0,0F2,0B0,0B2\n", 1, 5,
     "expected 0F1 somewhere in this row, as stage 0 meets micro-batches 0 to 2"},
    {"a forward twice", "0F0,0F1,0F0,0B0,0B1\n", 1, 3, "expected 0F0 once, found it again after column 1"},
    {"a backward twice", "0F0,0F1,0B0,0B1,0B0\n", 1, 5, "expected 0B0 once, found it again after column 3"},
    {"the whole and a part", "0F0,0F1,0I0,0W0,0I1,0B1,0W1\n", 1, 5,
     "expected 0B1 without a part beside it, found 0I1; try 0B1 alone, or 0I1 and 0W1"},
    {"no second part", "0F0,0F1,0I0,0W0,0I1\n", 1, 5, "expected 0W1 in the same row as 0I1"},
    {"no first part", "0F0,0F1,0I0,0W0,0W1\n", 1, 5,
     "expected 0I1 in the same row as 0W1, found none; try to add it, or 0B1 in place of both"},
    {"letters of two years", "0F0,0F1,0I0,0W0,0BW1\n", 1, 5,
     "expected B for a whole backward pass in a file with I, found 0BW1; try 0B1"},
    {"older letters without the second part", "0F0,0F1,0B0,0W0,0B1\n", 1, 5,
     "expected 0W1 in the same row as 0B1, found none; try to add it, or 0BW1"},
    // Order.
    {"a backward before its forward", "0B0,0F0\n", 1, 1,
     "expected 0F0 before 0B0, found it in column 2; try to swap them"},
    {"the second part before the first", "0F0,0W0,0I0\n", 1, 2, "expected 0I0 before 0W0, found it in column 3"},
    {"stages of a rank in the wrong order", "1F0,0F0,1B0,0B0\n", 1, 1, "expected 0F0 before 1F0, found it in column 2"},
    {"a deadlock", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n", 1, 2,
     "found a deadlock: 0B0 waits for 1B0 (row 2, column 3), but row 2 is at 1F1, which waits for 0F1 (row 1, column "
     "3), "
     "but row 1 is at 0B0; try 1B0 sooner"},
    // FSDP.
    {"a pass without its weights", "0F0,0UNSHARD,0B0\n", 1, 1, "expected 0UNSHARD before 0F0"},
    {"a pass after its weights went", "0UNSHARD,0F0,0RESHARD,0B0\n", 1, 4,
     "expected 0UNSHARD before 0B0, found none since the start or 0RESHARD"},
    {"weights gathered twice", "0UNSHARD,0UNSHARD,0F0,0B0\n", 1, 2, "expected 0RESHARD before 0UNSHARD"},
    {"weights freed twice", "0UNSHARD,0F0,0B0,0RESHARD,0RESHARD\n", 1, 5, "expected 0UNSHARD before 0RESHARD"},
    {"gradients reduced twice", "0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n", 1, 4, "expected 0REDUCE_GRAD once"},
    {"gradients reduced too soon", "0F0,0REDUCE_GRAD,0B0\n", 1, 3,
     "expected 0B0 before 0REDUCE_GRAD (row 1, column 2), found it behind"},
    // Messages.
    {"a send without a receipt", "0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1B0,1SEND_B0\n", 2, 1,
     "expected 1RECV_F0 before 1F0, as this file has messages"},
    {"a receipt without a send", "0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", 1, 1, "expected 0SEND_F0 behind 0F0"},
    {"a send before its pass", "0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", 1, 1,
     "expected 0SEND_F0 behind 0F0, found it in column 2; try to swap them"},
    {"a receipt after its pass", "0F0,0SEND_F0,0B0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", 1, 4,
     "expected 0RECV_B0 before 0B0"},
    {"a message past the end", "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_F0,1B0,1SEND_B0\n", 2, 3,
     "expected no 1SEND_F0, as the next stage does not exist"},
    {"a message to the same rank", "0F0,0SEND_F0,1F0,1B0,0B0\n", 1, 2, "as the next stage stands in the same row"},
    {"a message twice", "0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", 1, 3,
     "expected 0SEND_F0 once"},
    {"messages out of turn",
     "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F1,1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n", 2, 2,
     "expected messages in the order of their sending, found 1RECV_F0"},
    {"messages in a deadlock", "0F0,0RECV_B0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", 1, 2,
     "found a deadlock: 0RECV_B0 waits for 1SEND_B0 (row 2, column 4), but row 2 is at 1RECV_F0, which waits for "
     "0SEND_F0 (row 1, column 3), but row 1 is at 0RECV_B0"},
};

}  // namespace foretoken::schedule
