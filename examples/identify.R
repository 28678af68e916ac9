# Identify a model from a file in R, with httr2.
#   Rscript examples/identify.R data.csv        ITOSCOPE_URL, ITOSCOPE_API_KEY
library(httr2)

file <- commandArgs(trailingOnly = TRUE)[1]
base <- Sys.getenv("ITOSCOPE_URL", "http://127.0.0.1:8000")
key <- Sys.getenv("ITOSCOPE_API_KEY")

ask <- function(path) {
  asked <- req_retry(req_timeout(request(paste0(base, path)), 90), max_tries = 5)
  if (nzchar(key)) req_auth_bearer_token(asked, key) else asked
}
id_key <- paste0("r-", Sys.getpid(), "-", as.integer(Sys.time()))
job <- ask("/v1/jobs") |>
  req_headers("Prefer" = "wait=60", "Idempotency-Key" = id_key) |>
  req_body_multipart(file = curl::form_file(file), job = '{"kind": "identification"}') |>
  req_perform() |>
  resp_body_json()
while (job$state %in% c("queued", "running")) {
  job <- ask(paste0("/v1/jobs/", job$id)) |> req_headers("Prefer" = "wait=60") |> req_perform() |> resp_body_json()
}
stopifnot(job$state == "succeeded")
result <- ask(paste0("/v1/jobs/", job$id, "/result")) |> req_perform() |> resp_body_json()

for (name in names(result$model$drift)) cat("b(", name, ") = ", result$model$drift[[name]]$expression, "\n", sep = "")
for (name in names(result$model$diffusion)) cat("a(", name, ") = ", result$model$diffusion[[name]]$expression, "\n", sep = "")
cat("relaxation time", result$generator$spectrum$relaxation_times[[1]], "\n")
