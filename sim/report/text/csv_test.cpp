// Tests fields of CSV that need quotes, and text that looks like a formula.
#include "sim/report/text/csv.h"

#include <gtest/gtest.h>

namespace foretoken::report {
namespace {

TEST(CsvField, IsQuotedWhereItMustBeAndNeverAFormula) {
  struct Case {
    const char *text, *field;
  };
  for (const Case& c : {
           Case{"USD", "USD"},
           Case{"", ""},
           Case{"a,b", "\"a,b\""},
           Case{"say \"no\"", "\"say \"\"no\"\"\""},
           Case{"two\nlines", "\"two\nlines\""},
           Case{"-5", "-5"},
           Case{"-1.5e3", "-1.5e3"},
           Case{"=HYPERLINK(1,2)", "\"'=HYPERLINK(1,2)\""},
           Case{"=1+1", "'=1+1"},
           Case{"+cmd", "'+cmd"},
           Case{"-cmd", "'-cmd"},
           Case{"@SUM(A1)", "'@SUM(A1)"},
           Case{"\tx", "\\u0009x"},
           Case{"a\033b\r", "a\\u001bb\\u000d"},
       })
    EXPECT_EQ(csv_field(c.text), c.field);
}

}  // namespace
}  // namespace foretoken::report
