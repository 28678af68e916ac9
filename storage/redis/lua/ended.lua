-- Answers the named jobs that have ended or are unknown, of any tenant: few of the many that are waited for.
-- KEYS  due set
local found = {}
for first = 1, #ARGV, 1000 do
  local names = { unpack(ARGV, first, math.min(first + 999, #ARGV)) }
  for place, due in ipairs(redis.call('ZMSCORE', KEYS[1], unpack(names))) do
    if not due then found[#found + 1] = names[place] end
  end
end
return found
