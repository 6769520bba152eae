// node:http, with tokens verified by jose as its documentation shows.
import { createServer } from "node:http";
import { jwtVerify } from "jose";
import { PUBLIC_KEY } from "../fixtures.ts";

async function subjectOf(authorization: string | undefined): Promise<string | null> {
  try {
    const token = authorization?.slice("Bearer ".length) ?? "";
    const { payload } = await jwtVerify(token, PUBLIC_KEY, { algorithms: ["EdDSA"] });
    return payload.sub ?? null;
  } catch {
    return null;
  }
}

createServer(async ({ url = "", headers }, response) => {
  const subject = url === "/json" ? "" : await subjectOf(headers.authorization);
  const body =
    url === "/json"
      ? { hello: "world" }
      : subject === null
        ? { error: "unauthorized" }
        : { id: url.slice("/signed/".length), user: subject };
  const text = JSON.stringify(body);
  response.writeHead(subject === null ? 401 : 200, {
    "Content-Type": "application/json; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": Buffer.byteLength(text),
  });
  response.end(text);
}).listen(Number(process.env.PORT), "127.0.0.1");
