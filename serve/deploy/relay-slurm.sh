#!/bin/sh
# Connect Slurm to Yardmaster by `yardmaster relay`:
#
#   yardmaster relay --cluster-id hpc --state 'relay-slurm.sh state' --apply 'relay-slurm.sh apply'
#
# A start, to be adapted, not a product. What it takes for granted:
# - Jobs under its control have the comment ym:MODEL:BATCH:STEPS and one --gres
#   such as gpu:V100:4; they are submitted on hold (sbatch --hold) and can be
#   requeued (--requeue), because they checkpoint themselves. Other jobs are not
#   seen, and what they occupy counts as free: give the two partitions of their own.
# - Speeds are in the file $YM_PROFILES, one a line, ascending in nothing:
#   MODEL GPUTYPE GPUS STEPS_PER_SECOND RESTART_SECONDS. A job's strategies are the
#   lines of its model. A job whose model is not there is left out, with a warning.
# - Only steps since the last start are unknown to Slurm: the work that is left is
#   not known (knowledge "none"), and attained service is the time since the start.
# - Nodes have GPUs of one type; nodes that are down, drained or failed are down.
#
# Needs a POSIX shell and awk, and of Slurm squeue, sinfo and scontrol.

set -eu
: "${YM_PROFILES:=/etc/yardmaster/profiles}"
: "${YM_ROUND_SECONDS:=60}"

state() {
	nodes=$(sinfo --noheader --Node --format '%N|%G|%T' | sort -u)
	jobs=$(squeue --noheader --states PENDING,RUNNING --format '%A|%k|%T|%b|%V|%M' | sort -t '|' -k5,5 -k1,1n)
	now=$(date +%s)
	{
		echo "$now $YM_ROUND_SECONDS"
		sed -e '/^[[:space:]]*#/d' -e '/^[[:space:]]*$/d' "$YM_PROFILES" | sed 's/^/profile /'
		echo "$nodes" | sed 's/^/node /'
		echo "$jobs" | while IFS='|' read -r id comment status gres submit ran; do
			case "$comment" in ym:*) ;; *) continue ;; esac
			echo "job $id|$comment|$status|$gres|$(date -d "$submit" +%s)|$ran"
		done
	} | awk "$to_state"
}

# Reads lines now, profile, node and job, in this order; prints the state.
to_state='
function seconds(text,   days, part, n, i, s) { # [D-]H:M:S, M:S or S
	days = 0
	if (split(text, part, "-") == 2) { days = part[1]; text = part[2] }
	n = split(text, part, ":"); s = 0
	for (i = 1; i <= n; i++) s = s * 60 + part[i]
	return days * 86400 + s
}
function ns(s) { return s > 0 ? sprintf("%d000000000", s) : "0" }
function warn(text) { print "relay-slurm: " text > "/dev/stderr" }
NR == 1 { now = $1; round = $2; next }
$1 == "profile" {
	n = ++profiles[$2]; ptype[$2, n] = $3; pgpus[$2, n] = $4; pspeed[$2, n] = $5; prestart[$2, n] = $6
	next
}
$1 == "node" {
	split(substr($0, 6), f, "|")
	if (split(f[2], g, ":") < 3) next # no GPUs
	sub(/[^0-9].*/, "", g[3])
	if (!(g[2] in type)) { type[g[2]] = types + 0; name[types++] = g[2] }
	nodes = nodes (count ? "," : "") "{\"type\":" type[g[2]] ",\"gpus\":" g[3] "}"
	if (f[3] ~ /down|drain|fail|maint|not_responding|[*]$/) down = down (down == "" ? "" : ",") count + 0
	count++
	next
}
$1 == "job" {
	split(substr($0, 5), f, "|"); split(f[2], c, ":"); split(f[4], g, ":")
	if (!(c[2] in profiles)) { warn("job " f[1] ": no profile of model " c[2]); next }
	if (!started++) start = f[5]
	current = -1; list = ""; k = 0; asked = 0
	for (i = 1; i <= profiles[c[2]]; i++) {
		t = ptype[c[2], i]
		if (!(t in type)) continue
		list = list (k ? "," : "") "{\"type\":" type[t] ",\"gpus\":" pgpus[c[2], i] ",\"nodes\":1,\"plan\":{\"data\":" pgpus[c[2], i] ",\"tensor\":1,\"pipeline\":1,\"micro_batch\":" c[3] "},\"throughput\":" pspeed[c[2], i] ",\"restart_ns\":" ns(prestart[c[2], i]) "}"
		if (f[3] == "RUNNING" && index(f[4], ":" t ":" pgpus[c[2], i]) && substr(f[4], length(f[4]) - length(pgpus[c[2], i])) == ":" pgpus[c[2], i]) current = k
		if (pgpus[c[2], i] > asked) asked = pgpus[c[2], i]
		k++
	}
	if (!k) { warn("job " f[1] ": no GPUs of its model here"); next }
	gpus = g[3] + 0; if (gpus < 1) gpus = asked
	ran = f[3] == "RUNNING" ? seconds(f[6]) : 0
	waiting = f[3] == "RUNNING" ? 0 : now - f[5]
	jobs = jobs (jobs == "" ? "" : ",") "{\"id\":" f[1] ",\"model\":\"" c[2] "\",\"batch\":" c[3] ",\"gpus\":" gpus ",\"weight\":1,\"submit_ns\":" ns(f[5] - start) ",\"done\":0,\"remaining\":-1,\"service\":" ran * gpus ",\"ran_ns\":" ns(ran) ",\"restarts\":0,\"current\":" current ",\"waiting_ns\":" ns(waiting) ",\"strategies\":[" list "]}"
}
END {
	if (!started) start = now
	for (i = 0; i < types; i++) names = names (i ? "," : "") "{\"name\":\"" name[i] "\",\"memory_gib\":0}"
	printf "{\"cluster\":{\"types\":[%s],\"nodes\":[%s]},\"now_ns\":%s,\"round\":0,\"round_length_ns\":%s,\"knowledge\":\"none\",", names, nodes, ns(now - start), ns(round)
	printf "\"recent\":{\"length_ns\":0,\"arrivals\":0,\"arrived_gpus\":0,\"completed\":0,\"completed_service\":0,\"completed_square\":0,\"queue\":0,\"running\":0,\"busy_gpus\":0},"
	if (down != "") printf "\"down\":[%s],", down
	printf "\"jobs\":[%s]}\n", jobs
}'

# Says of which jobs a command failed, as the relay wants it.
failed() { printf '{"job": %s, "applied": false, "reason": "%s"}\n' "$1" "$2"; }

apply() {
	cat >/dev/null # the decision: the plan says the same
	tab=$(printf '\t')
	while IFS="$tab" read -r verb id _ type gpus nodes _; do
		case "$verb" in
		stop)
			scontrol requeuehold "$id" >&2 || failed "$id" "requeuehold"
			;;
		start)
			{ scontrol update "JobId=$id" "Gres=gpu:$type:$gpus" "NumNodes=$nodes" && scontrol release "$id"; } >&2 || failed "$id" "update or release"
			;;
		move)
			{ scontrol requeuehold "$id" && scontrol update "JobId=$id" "Gres=gpu:$type:$gpus" "NumNodes=$nodes" && scontrol release "$id"; } >&2 || failed "$id" "requeue, update or release"
			;;
		esac
	done <"$YARDMASTER_PLAN"
}

case "${1:-}" in
state) state ;;
apply) apply ;;
*)
	echo "usage: relay-slurm.sh state|apply" >&2
	exit 2
	;;
esac
