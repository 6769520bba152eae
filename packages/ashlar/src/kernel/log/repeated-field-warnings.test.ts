import { expect, test } from "vitest";
import { createApplication } from "../../boot/application/create-application.ts";
import { createLogger } from "../../boot/log/create-logger.ts";
import { Route } from "../../routing/index.ts";

async function make(environment: "development" | "test") {
  const lines: Record<string, unknown>[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: false } } as const;
  const application = await createApplication({
    logger: createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) }),
    config: { app: { APP: { log: { requests: false } } } },
    environment: { APP_ENV: environment },
    routes: [
      Route.get("/posts", ({ request }) => request.all()),
      Route.post("/posts", ({ request }) => request.all()),
      Route.put("/posts/@id", ({ request }) => request.all()),
    ],
  });
  const ask = async (path: string, body?: URLSearchParams | FormData) => {
    const method = body === undefined ? "GET" : "POST";
    return (await application.fetch(new Request(`http://localhost${path}`, { method, body: body ?? null }))).json();
  };
  return { ask, lines };
}

function multipart(...fields: readonly (readonly [string, string])[]): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}

test("in development, each field that loses values is reported once, with name and route", async () => {
  const { ask, lines } = await make("development");
  const fields = [
    ["tags", "s3cret"],
    ["tags", "other"],
  ] as const;
  expect(await ask("/posts", new URLSearchParams(fields.map(([...pair]) => pair)))).toEqual({ tags: "other" });
  await ask("/posts", multipart(...fields));
  await ask("/posts?tags=a&tags=b");
  await ask("/posts?user[tags]=a&user[tags]=b");
  await ask("/posts/7", multipart(["__method", "PUT"], ["sizes", "s"], ["sizes", "m"]));
  expect(lines.map(({ level, field, route }) => [level, field, route])).toEqual([
    ["warn", "tags", "POST /posts"],
    ["warn", "user[tags]", "GET /posts"],
    ["warn", "sizes", "PUT /posts/@id"],
  ]);
  expect(lines[0]!.msg).toBe(
    'The field "tags" was sent more than once, and only its last value counts. If it is meant to be a list, as with ' +
      '<select multiple>, add brackets to its name: name="tags[]".',
  );
  expect(JSON.stringify(lines)).not.toContain("s3cret");
});

test("a field that loses values in several requests at the same time is reported once", async () => {
  const { ask, lines } = await make("development");
  await Promise.all(["a", "b", "c"].map((value) => ask(`/posts?tags=${value}&tags=x`)));
  expect(lines.map(({ field }) => field)).toEqual(["tags"]);
});

test("lists, and forms that lose no values, are not reported", async () => {
  const { ask, lines } = await make("development");
  expect(await ask("/posts", multipart(["tags[]", "a"], ["tags[]", "b"], ["news", "0"], ["news", "1"]))).toEqual({
    tags: ["a", "b"],
    news: "1",
  });
  expect(lines).toEqual([]);
});

test("at most a hundred names are reported", async () => {
  const { ask, lines } = await make("development");
  for (let index = 0; index < 150; index++) await ask(`/posts?f${index}=a&f${index}=b`);
  expect(lines).toHaveLength(100);
});

test("nothing is reported outside of development", async () => {
  const { ask, lines } = await make("test");
  await ask("/posts", multipart(["tags", "a"], ["tags", "b"]));
  expect(lines).toEqual([]);
});
