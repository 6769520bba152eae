import type { ServerResponse } from "node:http";
import { discard, prepare } from "../../kernel/index.ts";
import { sendStream } from "./send-stream.ts";

/**
 * Sends a `Response` of the Fetch API through one of `node:http`, for handlers of Express and of `node:http` itself:
 *
 * ```ts
 * express.get("/orders", async (req, res) => {
 *   const visitor = await application.authenticate(req);
 *   if (visitor.user === null) return await sendResponse(res, await visitor.refuse());
 *   visitor.apply(res).end(`Orders of ${visitor.user.name}`);
 * });
 * ```
 *
 * Headers that were set on `response` before are sent too, unless `result` has them; `Set-Cookie` of both is sent.
 *
 * @returns once the response has been handed over
 * @throws the error of a stream; `response.headersSent` tells whether a part of it has been sent
 */
export async function sendResponse(response: ServerResponse, result: Response): Promise<void> {
  const prepared = prepare(result);
  const earlier = response.getHeader("set-cookie");
  for (const cookie of earlier === undefined ? [] : [earlier].flat())
    prepared.headers.push("set-cookie", String(cookie));
  const { status, headers, body } = prepared;
  if (response.req.method === "HEAD" || status === 204 || status === 304) {
    discard(body);
    response.writeHead(status, headers).end();
  } else if (typeof body === "string" || body instanceof Uint8Array || body === null || body === undefined) {
    response.writeHead(status, headers).end(body ?? "");
  } else {
    await sendStream(response, prepared);
  }
}
