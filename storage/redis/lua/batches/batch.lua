-- A batch of the tenant with some of its rows. Answers {batch, its last job that has not ended or '', row, …}, {} where there is none.
-- A row is {what it is about, job's id, state, attempt, error, values}; a job that is no longer kept has the state ''.
-- ARGV  tenant, batch's id, number of the first row, number of rows
local batch, first = batch_of(ARGV[1], ARGV[2]), tonumber(ARGV[3])
local fields = redis.call('HGETALL', batch)
if #fields == 0 then return {} end
local answer, last = {fields, ''}, first + tonumber(ARGV[4]) - 1
local counts = redis.call('HMGET', batch, 'queued', 'running')
if tonumber(counts[1] or 0) + tonumber(counts[2] or 0) > 0 then
  local jobs = redis.call('LRANGE', batch .. ':jobs', 0, -1)
  for i = #jobs, 1, -1 do
    local state = redis.call('HGET', 'job:' .. jobs[i], 'state')
    if state and not terminal(state) then
      answer[2] = jobs[i]
      break
    end
  end
end
if last < first then return answer end
local jobs, records = redis.call('LRANGE', batch .. ':jobs', first, last), redis.call('LRANGE', batch .. ':records', first, last)
for i, id in ipairs(jobs) do
  local job = redis.call('HMGET', 'job:' .. id, 'state', 'attempt', 'error', 'values')
  answer[#answer + 1] = {records[i], id, job[1] or '', job[2] or '0', job[3] or '', job[4] or ''}
end
return answer
