// Runs a job with the types that openapi-typescript made of openapi.json.
//   node client.mjs ADDRESS FILE
import { readFile } from "node:fs/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./generated.js";

const [address, file] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl: address });
const text = await readFile(file, "utf8");

const uploaded = await client.POST("/v1/datasets", {
  body: { file: text },
  bodySerializer: (body) => {
    const form = new FormData();
    form.set("file", new Blob([(body as { file: string }).file]), "record.csv");
    return form;
  },
});
if (!uploaded.data) throw new Error(uploaded.error.detail);

const submitted = await client.POST("/v1/jobs", {
  body: { kind: "identification", dataset: uploaded.data.id },
});
if (!submitted.data) throw new Error(submitted.error.detail);

let job = submitted.data;
while (job.state === "queued" || job.state === "running") {
  const polled = await client.GET("/v1/jobs/{job_id}", {
    params: { path: { job_id: job.id }, header: { Prefer: "wait=60" } },
  });
  if (!polled.data) throw new Error(polled.error?.detail);
  job = polled.data;
}

const fetched = await client.GET("/v1/jobs/{job_id}/result", { params: { path: { job_id: job.id } } });
if (!fetched.data) throw new Error(fetched.error?.detail);
const result = fetched.data as components["schemas"]["IdentificationResult"];
for (const term of result.model.drift["x"]!.terms.filter((term) => term.active)) console.log(term.term, term.value);
