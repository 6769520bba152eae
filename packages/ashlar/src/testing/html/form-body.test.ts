import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeLoadedContext } from "../../../test/support/http-context.ts";
import { entriesBody, formBody } from "./form-filling.ts";

/** What the application reads from a URL-encoded body. */
async function read(body: URLSearchParams | FormData): Promise<unknown> {
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return (await makeLoadedContext({ headers, body: String(body) })).request.body;
}

describe("form data in a test", () => {
  test("is read by the application unchanged", async () => {
    const name = fc
      .stringMatching(/^[a-z][a-z0-9_]{0,8}$/)
      .filter((key) => key !== "constructor" && key !== "prototype");
    const text = fc.string({ unit: "grapheme" });
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 3, withCrossShrink: true }, text, tie("list"), tie("object")),
      list: fc.array(tie("any"), { minLength: 1, maxLength: 3 }),
      object: fc.dictionary(name, tie("any"), { minKeys: 1, maxKeys: 3 }),
    }));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, value.any, { maxKeys: 4 }), async (data) => {
        const plain = JSON.parse(JSON.stringify(data)) as unknown;
        expect(JSON.parse(JSON.stringify(await read(formBody(data))))).toEqual(plain);
      }),
    );
  });

  test("a FormData is sent unchanged", () => {
    const [search, form] = [new URLSearchParams("a=1"), new FormData()];
    expect(formBody(search)).toBe(search);
    expect(formBody(form)).toBe(form);
  });

  test("a file at any depth makes it multipart", () => {
    const file = new File(["x"], "x.txt");
    const form = formBody({ a: [{ b: file }], c: 1 }) as FormData;
    expect([...form]).toEqual([
      ["a[0][b]", file],
      ["c", "1"],
    ]);
  });
});

test("without multipart, only a file's name is sent", () => {
  const entries = [
    ["f", new File(["x"], "x.txt")],
    ["g", new Blob(["x"])],
  ] as const;
  expect(String(entriesBody(entries, false))).toBe("f=x.txt&g=blob");
});
