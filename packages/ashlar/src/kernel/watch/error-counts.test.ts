import { expect, onTestFinished, test, vi } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { createApplication } from "../../boot/index.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";

class MadeUp extends AshlarError {
  constructor(code: string) {
    super("E_FORBIDDEN");
    Object.assign(this, { code });
  }
}

async function make() {
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { log: { level: "silent" } } } },
    routes: [
      Route.get("/", () => "fine"),
      Route.get("/refused", () => {
        throw new AshlarError("E_TOO_MANY_REQUESTS");
      }),
      Route.get("/away", async () => {
        throw new AshlarError("E_OVERLOADED");
      }),
      Route.get("/broken", () => {
        throw new Error("broken");
      }),
      Route.get("/made-up/@code", ({ request }) => {
        throw new MadeUp(String(request.param("code")));
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  const ask = async (path: string) => (await application.fetch(new Request(`http://localhost${path}`))).status;
  return { application, ask };
}

test("only errors that end a request are counted, by code", async () => {
  const { application, ask } = await make();
  expect(application.stats().errors).toEqual({});
  const paths = ["/", "/refused", "/away", "/away", "/broken", "/nowhere", "/%zz"];
  expect(await Promise.all(paths.map(ask))).toEqual([200, 429, 503, 503, 500, 404, 400]);
  expect(application.stats().errors).toEqual({
    E_TOO_MANY_REQUESTS: 1,
    E_OVERLOADED: 2,
    E_INTERNAL: 1,
    E_NOT_FOUND: 1,
    E_BAD_REQUEST: 1,
  });
});

test("a code that was not declared adds no counter, whatever an application's own error has", async () => {
  const { application, ask } = await make();
  for (const code of ["E_ONE", "E_TWO", "constructor", "__proto__"]) await ask(`/made-up/${code}`);
  expect(application.stats().errors).toEqual({ E_INTERNAL: 4 });
});

test("an error is counted if a listener responds to it, and so is the failure of a listener", async () => {
  const { application, ask } = await make();
  application.onError((error) => {
    if ((error as AshlarError).code === "E_TOO_MANY_REQUESTS") return "Wait.";
    throw new Error("A listener has failed.");
  });
  expect([await ask("/refused"), await ask("/nowhere")]).toEqual([429, 500]);
  expect(application.stats().errors).toEqual({ E_TOO_MANY_REQUESTS: 1, E_NOT_FOUND: 1, E_INTERNAL: 1 });
});

test("a response that can't be made is an internal error", async () => {
  const { application, ask } = await make();
  application.onError(() => Symbol("no response"));
  expect(await ask("/refused")).toBe(500);
  expect(application.stats().errors).toEqual({ E_TOO_MANY_REQUESTS: 1, E_INTERNAL: 1 });
});

test("requests refused after a shutdown are counted", async () => {
  const { application, ask } = await make();
  await application.shutdown();
  expect([
    await ask("/"),
    (await application.errorResponse(new Request("http://localhost/"), new Error())).status,
  ]).toEqual([503, 503]);
  expect(application.stats().errors).toEqual({ E_SHUTTING_DOWN: 2 });
});

test("S50 requests refused because of overload are counted", async () => {
  // The clock for waiting times, which only handlers advance.
  let time = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    config: { app: { APP: { log: { level: "silent" }, server: { maxQueueMs: 20 } } } },
    routes: [
      Route.get("/", () => {
        time += 10;
        return "fine";
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const requests = Array.from({ length: 40 }, (_, index) => {
    return `GET / HTTP/1.1\r\nHost: a\r\n${index === 39 ? "Connection: close\r\n" : ""}\r\n`;
  });
  const received = await rawSocket(port, requests.join("")).closed;
  const refused = received.split("HTTP/1.1 503").length - 1;
  expect(refused).toBeGreaterThan(0);
  expect(application.stats().errors).toEqual({ E_OVERLOADED: refused });
});
