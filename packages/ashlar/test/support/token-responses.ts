import { onTestFinished } from "vitest";
import { setClock } from "../../src/support/index.ts";
import type { Answer, TestApi } from "./api-application.ts";

/** The properties by which a response to a refused token can be recognized. */
export const REFUSED: object = { status: 401, body: { code: "E_INVALID_TOKEN" } };

/** The properties of a response to an accepted token. */
export const ACCEPTED: object = { status: 200, body: { open: true } };

/** Moves the clock this far from the real time until the test ends. */
export function travel(minutes: number): void {
  const to = Date.now() + minutes * 60_000;
  setClock(() => to);
  onTestFinished(() => setClock(null));
}

/** One of a token's JSON parts: its header or its claims. */
export function part(token: string, index: 0 | 1): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[index]!, "base64url").toString());
}

/** Calls an API route that only needs a valid token. */
export function open(api: TestApi, token: string): Promise<Answer> {
  return api.get("/api/open", { token });
}

/** The token that the reauth route returns for another. */
export async function renew(api: TestApi, token: string): Promise<string> {
  const { status, body } = await api.post("/api/reauth", { token });
  if (status !== 200) throw new Error(`The reauth route responded with ${status}.`);
  return (body as { readonly data: string }).data;
}
