-- A tenant's jobs that match all facets, newest first. Answers {cursor of the next page or '', record, …}.
-- ARGV[5] and further: facets; the shortest of their lists is examined, ARGV[4] jobs of it at most
local tenant, before, limit, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])

local shortest, others = listed(tenant, ''), {}
for i = 5, #ARGV do
  local list = listed(tenant, ARGV[i])
  if redis.call('ZCARD', list) < redis.call('ZCARD', shortest) then shortest, list = list, shortest end
  if list ~= listed(tenant, '') then others[#others + 1] = list end
end

local function belongs(id)
  for _, list in ipairs(others) do
    if not redis.call('ZSCORE', list, id) then return false end
  end
  return true
end

local upper = before == '' and '+inf' or '(' .. before
local candidates = redis.call('ZREVRANGEBYSCORE', shortest, upper, '-inf', 'WITHSCORES', 'LIMIT', 0, #others == 0 and limit + 1 or most)
local page, last = {''}, ''
for i = 1, #candidates, 2 do
  if #page > limit then
    page[1] = last
    return page
  end
  last = candidates[i + 1]
  if belongs(candidates[i]) then page[#page + 1] = redis.call('HGETALL', 'job:' .. candidates[i]) end
end
-- Where the walk ended before the list did, the next page goes on from there.
if #others > 0 and #candidates == 2 * most then page[1] = last end
return page
