"""Solves the MPS files named on standard input, one a line, with HiGHS.

A line is "path solver limit": solver is choose, simplex or ipm, limit is in
seconds. Answers one line each: "status objective seconds", the
seconds those of its processor.
"""

import sys
import time

import highspy


def solve(path, solver, limit):
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("threads", 1)
    h.setOptionValue("solver", solver)
    h.setOptionValue("time_limit", float(limit))
    h.setOptionValue("mip_rel_gap", 1e-9)
    h.setOptionValue("mip_abs_gap", 1e-9)
    h.setOptionValue("mip_feasibility_tolerance", 1e-9)
    if solver == "choose":  # objectives are compared, not times
        h.setOptionValue("primal_feasibility_tolerance", 1e-10)
        h.setOptionValue("dual_feasibility_tolerance", 1e-10)
    h.readModel(path)
    start = time.process_time()
    h.run()
    seconds = time.process_time() - start
    status = h.getModelStatus()
    names = {
        highspy.HighsModelStatus.kOptimal: "optimal",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kTimeLimit: "limit",
    }
    print(names.get(status, "failed"), repr(h.getObjectiveValue()), seconds, flush=True)


print(highspy.Highs().version(), flush=True)
for line in sys.stdin:
    solve(*line.split())
