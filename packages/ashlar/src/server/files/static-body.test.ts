import { Readable } from "node:stream";
import { FastResponse } from "srvx";
import { expect, test } from "vitest";
import { withoutOpenFile } from "./static-body.ts";

const RAW = new Request("http://localhost/file");
const CHANGED = "The file changed while it was being sent.";

/** A response with an open file of this size, as srvx creates it. */
function opened(bytes: number, length: number, status = 200): Response {
  const body = Readable.from([Buffer.alloc(bytes)]);
  const headers = { "content-length": String(length), etag: 'W/"1-1"' };
  return new FastResponse(body as never, { status, headers });
}

test("S62 a small file that becomes shorter or longer while it is read is not sent", async () => {
  for (const bytes of [99, 101]) {
    await expect(withoutOpenFile(RAW, opened(bytes, 100), () => opened(100, 100))).rejects.toThrow(CHANGED);
  }
  const { body } = await withoutOpenFile(RAW, opened(100, 100), () => opened(100, 100));
  expect(body).toHaveLength(100);
});

test("S62 a large file is not sent if the same request then gets another part of it", async () => {
  const read = async (status: number) => {
    const { body } = await withoutOpenFile(RAW, opened(100_000, 100_000), () => opened(100_000, 100_000, status));
    return (await new Response(body).arrayBuffer()).byteLength;
  };
  expect(await read(200)).toBe(100_000);
  await expect(read(206)).rejects.toThrow(CHANGED);
});
