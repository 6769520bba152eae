import { expect, onTestFinished, test } from "vitest";
import { rawSocket } from "../../../test/support/raw-socket.ts";
import { createApplication } from "../../boot/application/create-application.ts";
import { Route } from "../../routing/index.ts";
import { AshlarError } from "../../support/index.ts";
import { LATENCY_BOUNDS_MS, RequestStats } from "./request-watch.ts";

async function make() {
  let held = 0;
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/orders/@id:int", ({ request }) => ({ id: request.param("id") })),
      Route.delete("/orders/@id:int", () => undefined),
      Route.get("/refused", () => {
        throw new AshlarError("E_FORBIDDEN");
      }),
      Route.get("/broken", async () => {
        throw new Error("broken");
      }),
      Route.get("/held", () => {
        held++;
        return new Promise(() => {});
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  const statuses = () =>
    application
      .stats()
      .requests.map(({ route, methods, statuses: counted, latency }) => [route, methods[0], counted, latency.count]);
  return { application, statuses, held: () => held };
}

test("requests are counted by route and class of status, and all without a route together", async () => {
  const { application, statuses } = await make();
  const ask = (path: string, method = "GET") =>
    application.fetch(new Request(`http://localhost${path}`, { method })) as Promise<Response>;
  expect(statuses()).toEqual([]);
  for (const path of ["/orders/1", "/orders/2", "/refused", "/broken", "/nowhere", "/orders/x", "/%zz"])
    await ask(path);
  await ask("/orders/3", "HEAD");
  await ask("/orders/3", "DELETE");
  await ask("/orders/3", "PUT");
  expect(statuses()).toEqual([
    ["/orders/@id:int", "GET", { "2xx": 3 }, 3],
    ["/refused", "GET", { "4xx": 1 }, 1],
    ["/broken", "GET", { "5xx": 1 }, 1],
    [null, undefined, { "4xx": 4 }, 4],
    ["/orders/@id:int", "DELETE", { "2xx": 1 }, 1],
  ]);
});

test("a server's requests are counted when their response has been sent, or their client is gone", async () => {
  const { application, statuses, held } = await make();
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
  const { socket, received } = rawSocket(port, get("/orders/7"));
  await expect.poll(received).toContain('{"id":"7"}');
  expect(statuses()).toEqual([["/orders/@id:int", "GET", { "2xx": 1 }, 1]]);
  socket.write(get("/held").repeat(2));
  await expect.poll(held).toBe(2);
  socket.destroy();
  await expect.poll(statuses).toEqual([
    ["/orders/@id:int", "GET", { "2xx": 1 }, 1],
    ["/held", "GET", { none: 2 }, 2],
  ]);
});

test("each duration is in the first class whose bound it does not exceed", () => {
  const stats = new RequestStats();
  for (const ms of [0, 1, 1.01, 2.5, 9999, 10_000, 10_000.1, 1e9]) stats.count(null, 200, ms);
  const [{ latency } = { latency: null }] = stats.read();
  const counts = [2, 2, ...Array.from({ length: LATENCY_BOUNDS_MS.length - 3 }, () => 0), 2, 2];
  expect(latency).toEqual({ boundsMs: LATENCY_BOUNDS_MS, counts, count: 8, sumMs: 1e9 + 30_003.61 });
});

test("a status outside of HTTP's range counts as no response", () => {
  const stats = new RequestStats();
  for (const status of [null, 99, 600, 999, 100, 599]) stats.count(null, status, 1);
  expect(stats.read()[0]?.statuses).toEqual({ none: 4, "1xx": 1, "5xx": 1 });
});
