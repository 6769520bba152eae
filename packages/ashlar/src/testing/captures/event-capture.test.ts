import { AssertionError } from "node:assert";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Application, createApplication } from "../../boot/index.ts";
import { EventProvider } from "../../events/index.ts";
import { captureEvents, type EventCapture } from "../index.ts";

declare module "../../events/event-map.ts" {
  interface EventMap {
    "kit.placed": { readonly id: number; readonly tags: readonly string[] };
    "kit.paid": { readonly id: number };
  }
}

let application: Application;

beforeAll(async () => {
  application = await createApplication({ environment: { APP_ENV: "test" }, providers: [EventProvider] });
});

afterAll(() => application.shutdown());

function begin(): EventCapture {
  const capture = captureEvents(application);
  onTestFinished(() => capture.stop());
  return capture;
}

function place(id: number, ...tags: string[]): Promise<void> {
  return application.container.make("events").emit("kit.placed", { id, tags });
}

function failureOf(work: () => unknown): string {
  expect(work).toThrow(AssertionError);
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("captured events", () => {
  test("contain every event of every name, in order, immediately", () => {
    const events = begin();
    void place(1, "a");
    void application.container.make("events").emit("kit.paid", { id: 1 });
    void place(2);
    expect(events.all).toEqual([
      { name: "kit.placed", payload: { id: 1, tags: ["a"] } },
      { name: "kit.paid", payload: { id: 1 } },
      { name: "kit.placed", payload: { id: 2, tags: [] } },
    ]);
    expect(events.of("kit.placed").map(({ id }) => id)).toEqual([1, 2]);
    events.clear();
    expect(events.all).toEqual([]);
  });

  test("still reach their listeners", async () => {
    const seen: number[] = [];
    const off = application.container.make("events").on("kit.placed", ({ id }) => seen.push(id));
    begin();
    await place(7);
    off();
    expect(seen).toEqual([7]);
  });

  test("contain nothing from before the capture or after its end", async () => {
    await place(1);
    const events = begin();
    await place(2);
    events.stop();
    events.stop();
    await place(3);
    expect(events.of("kit.placed").map(({ id }) => id)).toEqual([2]);
    expect(Object.hasOwn(application.container.make("events"), "emit")).toBe(false);
  });

  test("are the same in concurrent captures, and ending one does not end the others", async () => {
    const events = begin();
    {
      using inner = captureEvents(application);
      await place(1);
      expect(inner.all).toEqual(events.all);
    }
    await place(2);
    expect(events.all).toHaveLength(2);
  });
});

describe("assertions", () => {
  test("assertEmitted returns the payload of the first event with its name, or of the first that matches", () => {
    const events = begin();
    void place(1, "a");
    void place(2, "a", "b");
    expect(events.assertEmitted("kit.placed")).toEqual({ id: 1, tags: ["a"] });
    expect(events.assertEmitted("kit.placed", { tags: ["a", "b"] }).id).toBe(2);
    expect(events.assertEmitted("kit.placed", ({ id }) => id > 1).id).toBe(2);
  });

  test("the failure of assertEmitted lists the emitted events", () => {
    const events = begin();
    expect(failureOf(() => events.assertEmitted("kit.placed"))).toBe(
      'There was no event "kit.placed". Nothing happened at all.',
    );
    void place(1);
    expect(failureOf(() => events.assertEmitted("kit.paid"))).toBe(
      'There was no event "kit.paid". These happened: "kit.placed".',
    );
    expect(failureOf(() => events.assertEmitted("kit.placed", { id: 2 }))).toBe(
      'There was no event "kit.placed" that matches; 1 did not match. These happened: "kit.placed".',
    );
  });

  test("assertNotEmitted checks a name, or the events that match", () => {
    const events = begin();
    void place(1);
    void place(1);
    events.assertNotEmitted("kit.paid");
    events.assertNotEmitted("kit.placed", { id: 2 });
    expect(failureOf(() => events.assertNotEmitted("kit.placed"))).toBe('The event "kit.placed" happened 2 times.');
    expect(failureOf(() => events.assertNotEmitted("kit.placed", { id: 1 }))).toContain("2 times");
  });

  test("assertNothingEmitted", () => {
    const events = begin();
    events.assertNothingEmitted();
    void place(1);
    expect(failureOf(() => events.assertNothingEmitted())).toBe('These happened: "kit.placed".');
  });
});

test("an application without events causes an error that says so", async () => {
  const bare = await createApplication({ environment: { APP_ENV: "test" } });
  expect(() => captureEvents(bare)).toThrow(expect.objectContaining({ code: "E_UNKNOWN_SERVICE" }));
  await bare.shutdown();
});
