import { connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { Route } from "../routing/index.ts";
import { afterAnswer } from "./after-answer.ts";
import type { Application } from "./application.ts";
import { createApplication } from "./create-application.ts";

/** An application whose handlers leave work behind, and go on for a while. */
async function working(): Promise<{ readonly application: Application; readonly order: string[] }> {
  const order: string[] = [];
  const leave = () => afterAnswer(() => order.push("work"));
  const application = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/soon", () => {
        leave();
        order.push("handled");
        return "done";
      }),
      Route.get("/later", async () => {
        leave();
        for (let count = 0; count < 5; count++) await turn();
        order.push("handled");
        return "done";
      }),
      Route.get("/fails", async () => {
        leave();
        await turn();
        order.push("handled");
        throw new Error("This handler fails.");
      }),
      Route.get("/endless", () => {
        leave();
        order.push("handled");
        return new ReadableStream({ start: (stream) => stream.enqueue("first") });
      }),
    ],
  });
  onTestFinished(() => application.shutdown());
  return { application, order };
}

/** Waits, however long the machine takes. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}

test.each(["/soon", "/later", "/fails"])(
  "work that GET %s leaves begins after fetch has given its answer",
  async (path) => {
    const { application, order } = await working();
    const response = await application.fetch(new Request(`http://localhost${path}`));
    order.push(String(response.status));
    await until(() => order.includes("work"));
    expect(order).toEqual(["handled", path === "/fails" ? "500" : "200", "work"]);
  },
);

test.each(["/soon", "/later", "/fails", "/endless"])("work that GET %s leaves to a server is done", async (path) => {
  const { application, order } = await working();
  const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const response = await fetch(new URL(path, url));
  await until(() => order.includes("work"));
  expect(order).toEqual(["handled", "work"]);
  await response.body?.cancel();
});

test("work of requests whose client has gone away is done, also behind another one on its connection", async () => {
  const { application, order } = await working();
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
  const socket = connect(port, "127.0.0.1");
  const one = "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n";
  socket.write(one + one, () => socket.destroy());
  await until(() => order.filter((step) => step === "work").length === 2);
  expect(order.filter((step) => step === "handled")).toHaveLength(2);
});

test("outside of a request it begins in the next turn, and so does what is left in work that was left", async () => {
  const { application, order } = await working();
  afterAnswer(() => order.push("outside"));
  expect(order).toEqual([]);
  await turn();
  expect(order).toEqual(["outside"]);
  await application.fetch(new Request("http://localhost/soon"));
  await until(() => order.includes("work"));
});

test("a request inside of another one is part of it", async () => {
  const { application, order } = await working();
  const outer = await createApplication({
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/outer", async () => {
        await application.fetch(new Request("http://localhost/soon"));
        for (let count = 0; count < 3; count++) await turn();
        order.push("outer handled");
        return "done";
      }),
    ],
  });
  onTestFinished(() => outer.shutdown());
  await outer.fetch(new Request("http://localhost/outer"));
  await until(() => order.includes("work"));
  expect(order).toEqual(["handled", "outer handled", "work"]);
});
