#!/bin/sh
# A step of a shell pipeline: submit a file, wait until the job has ended, print the result. It fails if the job fails.
#   sh examples/pipeline.sh data.csv > result.json        ITOSCOPE_URL, ITOSCOPE_API_KEY
set -eu
file=${1:-"$(dirname -- "$0")/double_well.csv"}
url=${ITOSCOPE_URL:-http://127.0.0.1:8000}

ask() {
  curl --fail-with-body --silent --show-error --retry 5 ${ITOSCOPE_API_KEY:+--header "Authorization: Bearer $ITOSCOPE_API_KEY"} "$@"
}
field() { # the first string with this name in a record
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p;q"
}

# With the key, repeated attempts of curl start only one job.
key=pipeline-$$-$(date +%s)
record=$(ask --header "Idempotency-Key: $key" --form "file=@$file" --form 'job={"kind": "identification"}' "$url/v1/jobs")
id=$(printf '%s' "$record" | sed 's/,.*//' | field id)
while :; do
  record=$(ask --header 'Prefer: wait=60' "$url/v1/jobs/$id")
  case $record in
    *'"state":"succeeded"'*) break ;;
    *'"state":"failed"'* | *'"state":"cancelled"'*) printf '%s\n' "$record" >&2; exit 1 ;;
  esac
done
ask "$url/v1/jobs/$id/result"
echo
