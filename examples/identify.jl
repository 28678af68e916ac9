# Identify a model from a file in Julia, with HTTP.jl and JSON.jl.
#   julia examples/identify.jl data.csv        ITOSCOPE_URL, ITOSCOPE_API_KEY
using HTTP, JSON

file = ARGS[1]
base = get(ENV, "ITOSCOPE_URL", "http://127.0.0.1:8000")
headers = haskey(ENV, "ITOSCOPE_API_KEY") ? ["Authorization" => "Bearer " * ENV["ITOSCOPE_API_KEY"]] : Pair{String,String}[]
patient = ["Prefer" => "wait=60"]
key = ["Idempotency-Key" => "julia-$(getpid())-$(round(Int, time()))"]

form = HTTP.Form(["file" => open(file), "job" => "{\"kind\": \"identification\"}"])
job = JSON.parse(String(HTTP.post(base * "/v1/jobs", [headers; patient; key], form).body))
while job["state"] in ("queued", "running")
    global job = JSON.parse(String(HTTP.get(base * "/v1/jobs/" * job["id"], [headers; patient]).body))
end
job["state"] == "succeeded" || error(JSON.json(job["error"]))
result = JSON.parse(String(HTTP.get(base * "/v1/jobs/" * job["id"] * "/result", headers).body))

for (name, drift) in result["model"]["drift"]
    println("b(", name, ") = ", drift["expression"])
end
for (name, diffusion) in result["model"]["diffusion"]
    println("a(", name, ") = ", diffusion["expression"])
end
println("relaxation time ", result["generator"]["spectrum"]["relaxation_times"][1])
