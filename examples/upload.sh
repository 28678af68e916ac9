#!/bin/sh
# Upload trajectories and start a job in one request. The response is the job's record, after at most ten seconds.
#   sh examples/upload.sh [FILE]        ITOSCOPE_URL, ITOSCOPE_API_KEY
set -eu
file=${1:-"$(dirname -- "$0")/double_well.csv"}
curl --fail-with-body --silent --show-error \
  ${ITOSCOPE_API_KEY:+--header "Authorization: Bearer $ITOSCOPE_API_KEY"} \
  --header "Prefer: wait=10" \
  --form "file=@$file" \
  --form 'job={"kind": "identification"}' \
  "${ITOSCOPE_URL:-http://127.0.0.1:8000}/v1/jobs"
echo
