import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createApplication, Provider } from "../boot/index.ts";
import { Route } from "../routing/index.ts";
import { EventProvider, Events } from "./index.ts";

declare module "./event-map.ts" {
  interface EventMap {
    "test.visited": { readonly path: string };
  }
}

const seen: string[] = [];

class ListenerProvider extends Provider {
  override boot(): void {
    const events = this.application.container.make("events");
    events.on("test.visited", async ({ path }) => {
      await sleep(10);
      seen.push(path);
    });
    events.on("test.visited", () => {
      throw new Error("The printer is on fire.");
    });
  }
}

async function create() {
  seen.length = 0;
  const application = await createApplication({
    providers: [EventProvider, ListenerProvider],
    environment: { APP_ENV: "test" },
    routes: [
      Route.get("/visit", ({ request, events }) => {
        void events.emit("test.visited", { path: request.getPath() });
        return "welcome";
      }),
    ],
  });
  return application;
}

describe("EventProvider", () => {
  test("there is one service for the whole application", async () => {
    const { container } = await create();
    expect(container.make("events")).toBeInstanceOf(Events);
    expect(container.make("events")).toBe(container.make("events"));
  });

  test("a provider's listener receives events from handlers, and a failing listener does not fail the request", async () => {
    const application = await create();
    const logged: unknown[] = [];
    application.logger.error = ((...line: unknown[]) => logged.push(line)) as typeof application.logger.error;
    const response = await application.fetch(new Request("http://localhost/visit"));
    expect([response.status, await response.text()]).toEqual([200, "welcome"]);
    await application.container.make("events").settled();
    expect(seen).toEqual(["/visit"]);
    expect(logged).toEqual([
      [{ err: new Error("The printer is on fire."), event: "test.visited" }, "A listener failed."],
    ]);
  });

  test("S50 an application that shuts down waits for its listeners", async () => {
    const application = await create();
    await application.fetch(new Request("http://localhost/visit"));
    expect(seen).toEqual([]);
    await application.shutdown();
    expect(seen).toEqual(["/visit"]);
  });
});
