import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Application, createApplication } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";

const folder = mkdtempSync(join(tmpdir(), "ashlar-range-"));
const path = join(folder, "letters.txt");
const MODIFIED = new Date("2026-01-02T03:04:05Z");
let application: Application;
let etag: string;

beforeAll(async () => {
  writeFileSync(path, "abcdefghij");
  utimesSync(path, MODIFIED, MODIFIED);
  application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/file", ({ response }) => response.download(path)),
      Route.get("/own", ({ response }) => response.header("etag", '"mine"').download(path)),
      Route.get("/status", ({ response }) => response.status(203).download(path)),
    ],
  });
  etag = (await ask({})).headers.get("etag")!;
});
afterAll(async () => {
  await application.shutdown();
  rmSync(folder, { recursive: true });
});

async function ask(headers: Record<string, string>, route = "/file", method = "GET") {
  const response = await application.fetch(new Request(`http://localhost${route}`, { headers, method }));
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("a download has the headers needed to resume it", async () => {
  const { status, headers, text } = await ask({});
  expect([status, text, Object.fromEntries(headers)]).toEqual([
    200,
    "abcdefghij",
    {
      "accept-ranges": "bytes",
      "content-disposition": 'attachment; filename="letters.txt"',
      "content-length": "10",
      "content-type": "application/octet-stream",
      etag: expect.stringMatching(/^"a-[\da-f]+"$/),
      "last-modified": MODIFIED.toUTCString(),
      "x-content-type-options": "nosniff",
    },
  ]);
});

test.each([
  ["bytes=0-2", "abc", "bytes 0-2/10"],
  ["bytes=7-", "hij", "bytes 7-9/10"],
  ["bytes=-2", "ij", "bytes 8-9/10"],
  ["bytes=-99", "abcdefghij", "bytes 0-9/10"],
  ["bytes=8-99", "ij", "bytes 8-9/10"],
  ["Bytes=9-9", "j", "bytes 9-9/10"],
])("the range %s", async (range, text, contentRange) => {
  const answer = await ask({ range });
  expect([answer.status, answer.text, answer.headers.get("content-range")]).toEqual([206, text, contentRange]);
  expect(answer.headers.get("content-length")).toBe(String(text.length));
});

test.each(["bytes=10-", "bytes=99-100", "bytes=-0"])("the range %s is beyond the file", async (range) => {
  const { status, headers, text } = await ask({ range });
  expect([status, text, headers.get("content-range")]).toEqual([416, "", "bytes */10"]);
});

test.each(["bytes=", "bytes=-", "bytes=5-2", "bytes=a-b", "bytes=0-1,4-5", "letters=0-1", "0-1", "bytes=1-2x"])(
  "the range %s is ignored",
  async (range) => {
    const { status, text } = await ask({ range });
    expect([status, text]).toEqual([200, "abcdefghij"]);
  },
);

test("ranges are ignored for HEAD and if the handler set a status", async () => {
  const head = await ask({ range: "bytes=0-2" }, "/file", "HEAD");
  expect([head.status, head.headers.get("content-length"), head.text]).toEqual([200, "10", ""]);
  const { status, text } = await ask({ range: "bytes=0-2" }, "/status");
  expect([status, text]).toEqual([203, "abcdefghij"]);
});

test("an unchanged file is not sent again, and ranges of different versions are never mixed", async () => {
  const earlier = new Date(MODIFIED.getTime() - 1000).toUTCString();
  const same = MODIFIED.toUTCString();
  const range = { range: "bytes=0-2" };
  const cases: [Record<string, string>, number][] = [
    [{ "if-none-match": etag }, 304],
    [{ "if-none-match": `W/${etag}` }, 304],
    [{ "if-none-match": `"x", ${etag}` }, 304],
    [{ "if-none-match": "*" }, 304],
    [{ "if-none-match": '"x"' }, 200],
    [{ "if-none-match": '"x"', "if-modified-since": same }, 200],
    [{ "if-modified-since": same }, 304],
    [{ "if-modified-since": earlier }, 200],
    [{ "if-modified-since": "garbage" }, 200],
    [{ "if-match": etag }, 200],
    [{ "if-match": `W/${etag}` }, 412],
    [{ "if-match": '"x"' }, 412],
    [{ "if-unmodified-since": earlier }, 412],
    [{ "if-unmodified-since": same }, 200],
    [{ ...range, "if-range": etag }, 206],
    [{ ...range, "if-range": `W/${etag}` }, 200],
    [{ ...range, "if-range": '"x"' }, 200],
    [{ ...range, "if-range": same }, 206],
    [{ ...range, "if-range": earlier }, 200],
    [{ ...range, "if-range": "garbage" }, 200],
    [{ ...range, "if-none-match": etag }, 304],
  ];
  for (const [headers, status] of cases) expect([headers, (await ask(headers)).status]).toEqual([headers, status]);
  const unchanged = await ask({ "if-none-match": etag });
  expect([unchanged.text, unchanged.headers.get("etag"), unchanged.headers.has("content-type")]).toEqual([
    "",
    etag,
    false,
  ]);
  expect((await ask({ "if-none-match": '"mine"' }, "/own")).status).toBe(304);
  expect((await ask({ "if-none-match": etag }, "/file", "HEAD")).status).toBe(304);
});
