// Trace context never refuses work: a malformed one is ignored, and a later version is read as W3C prescribes.
#include "model/traceparent.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hapax::model {
namespace {

const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceContext, AVersion00IsHandedOnAsItCame) {
  EXPECT_EQ(accepted_traceparent(trace), trace);
  EXPECT_EQ(accepted_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe"),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe");
}

TEST(TraceContext, ALaterVersionIsReadByItsFirstFourFields) {
  EXPECT_EQ(accepted_traceparent("cc" + trace.substr(2)), trace);
  EXPECT_EQ(accepted_traceparent("cc" + trace.substr(2) + "-what-the-future-will-be-like"), trace);
  EXPECT_EQ(accepted_traceparent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe-x"),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
}

TEST(TraceContext, WhatIsMalformedIsNothing) {
  const std::string no_trace = "00-" + std::string(32, '0') + "-b7ad6b7169203331-01";
  const std::string no_parent = "00-0af7651916cd43dd8448eb211c80319c-" + std::string(16, '0') + "-01";
  for (const std::string& bad :
       {std::string(), std::string("x"), trace.substr(0, 54), trace + "-x", "ff" + trace.substr(2),
        "cc" + trace.substr(2) + ".x", "0G" + trace.substr(2), no_trace, no_parent, trace + std::string(100'000, 'x'),
        std::string("00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01"), " " + trace, trace + "," + trace}) {
    EXPECT_EQ(accepted_traceparent(bad), "") << bad.substr(0, 100);
  }
}

TEST(TraceContext, ATracestateIsPassedOnOrIgnored) {
  for (const std::string& good : {std::string("a=b"), std::string("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"),
                                  std::string("tenant@vendor=x y,, b_-*/=1"), "k=" + std::string(510, 'v')}) {
    EXPECT_EQ(accepted_tracestate(good), good);
  }
  EXPECT_EQ(accepted_tracestate(" \ta=b "), "a=b");
  std::string many;
  for (int i = 0; i < 33; ++i) { many += "k" + std::to_string(i) + "=v,"; }
  for (const std::string& bad :
       {std::string(), std::string(" ,"), std::string("a"), std::string("=b"), std::string("a="), std::string("A=b"),
        std::string("a=b=c"), std::string("a=\x01"), std::string("a=\xc3\xbc"), "k=" + std::string(511, 'v'), many}) {
    EXPECT_EQ(accepted_tracestate(bad), "") << bad.substr(0, 100);
  }
}

TEST(TraceContext, ATracestateNeedsATraceparent) {
  Labels labels;
  set_trace(labels, trace, "a=b");
  EXPECT_EQ(labels.traceparent, trace);
  EXPECT_EQ(labels.tracestate, "a=b");
  set_trace(labels, "none", "a=b");
  EXPECT_EQ(labels.traceparent, "");
  EXPECT_EQ(labels.tracestate, "");
}

}  // namespace
}  // namespace hapax::model
