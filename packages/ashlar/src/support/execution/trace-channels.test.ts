import { tracingChannel } from "node:diagnostics_channel";
import { expect, onTestFinished, test } from "vitest";
import { type TracedHash, traceChannels, traced } from "../index.ts";

const EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

/** The messages published on the channel `ashlar:hash`, subscribed to by its public name. */
function listen(): [event: string, message: TracedHash][] {
  const seen: [string, TracedHash][] = [];
  const channel = tracingChannel("ashlar:hash");
  for (const event of EVENTS) {
    const listener = (message: unknown): void => void seen.push([event, { ...(message as TracedHash) }]);
    channel[event].subscribe(listener);
    onTestFinished(() => void channel[event].unsubscribe(listener));
  }
  return seen;
}

const failure = new Error("failed");

test("synchronous work starts and ends", () => {
  const seen = listen();
  expect(traced(traceChannels.hash, { operation: "hash" }, () => 5)).toBe(5);
  expect(seen).toEqual([
    ["start", { operation: "hash" }],
    ["end", { operation: "hash" }],
  ]);
});

test("asynchronous work continues until asyncEnd, and its result is not in the message", async () => {
  const seen = listen();
  expect(await traced(traceChannels.hash, { operation: "verify" }, async () => "secret")).toBe("secret");
  const message = { operation: "verify", isAsync: true };
  expect(seen).toEqual([
    ["start", { operation: "verify" }],
    ["end", message],
    ["asyncStart", message],
    ["asyncEnd", message],
  ]);
});

test("work that fails reports it before it ends, and its error is thrown", async () => {
  const seen = listen();
  const fail = (): never => {
    throw failure;
  };
  expect(() => traced(traceChannels.hash, { operation: "hash" }, fail)).toThrow(failure);
  await expect(traced(traceChannels.hash, { operation: "hash" }, async () => fail())).rejects.toBe(failure);
  expect(seen.map(([event, { error }]) => [event, error])).toEqual([
    ["start", undefined],
    ["error", failure],
    ["end", failure],
    ["start", undefined],
    ["end", undefined],
    ["error", failure],
    ["asyncStart", failure],
    ["asyncEnd", failure],
  ]);
});
