import { afterEach, describe, expect, test } from "vitest";
import { makeContext } from "../../../test/support/http-context.ts";
import { readThrottleSettings } from "../../../test/support/throttle-settings.ts";
import { setClock } from "../../support/index.ts";
import type { LimitName } from "../limit-name.ts";
import type { LimitSettings } from "../limits/limit.ts";
import { MemoryStore } from "../stores/memory-store.ts";
import { Throttle } from "../throttle.ts";

const PAIR = { by: ["account", "address"], attempts: 5, windowSeconds: 60 } as const;
const ADDRESS = { by: ["address"], attempts: 20, windowSeconds: 600 } as const;
const ACCOUNT = { by: ["account"], attempts: 8, windowSeconds: 3600 } as const;
const LOGIN: LimitSettings = { account: "email", buckets: [PAIR, ADDRESS] };

const ann = { account: "ann@example.com", address: "203.0.113.7" };

function create(limits: Readonly<Record<string, LimitSettings>>): Throttle {
  return new Throttle(readThrottleSettings({ limits }), new MemoryStore(), () => null, { error: () => {} });
}

const START = 1_700_000_000_000;
const travel = (seconds: number) => setClock(() => START + seconds * 1000);

afterEach(() => setClock(null));

describe("the headers", () => {
  /** Returns the two headers of a response after this many hits. */
  async function headers(
    limits: Record<string, LimitSettings>,
    names: readonly LimitName[],
  ): Promise<(string | null)[]> {
    travel(0);
    const throttle = create(limits);
    const context = makeContext({ ip: ann.address });
    for (const name of names) await throttle.hit(context, name, { account: "ann" }).catch(() => null);
    const answer = context.response.text("").toResponse().headers;
    return [answer.get("RateLimit-Policy"), answer.get("RateLimit")];
  }

  test("give the limit of one bucket and its remaining attempts", async () => {
    expect(await headers({ export: { buckets: [ADDRESS] } }, ["export"])).toEqual([
      '"export";q=20;w=600',
      '"export";r=19;t=600',
    ]);
  });

  test("name each bucket", async () => {
    expect(await headers({ login: LOGIN }, ["login"])).toEqual([
      '"login-address";q=20;w=600, "login";q=5;w=60',
      '"login-address";r=19;t=600, "login";r=4;t=60',
    ]);
  });

  test("name all limits that applied to a request", async () => {
    expect(await headers({ login: { buckets: [PAIR] }, export: { buckets: [ADDRESS] } }, ["export", "login"])).toEqual([
      '"export";q=20;w=600, "login";q=5;w=60',
      '"export";r=19;t=600, "login";r=4;t=60',
    ]);
  });

  test("are also on the refusal, with nothing left", async () => {
    travel(0);
    const throttle = create({ login: LOGIN });
    await throttle.consume("login", ann, 5);
    const context = makeContext({ ip: ann.address });
    await expect(throttle.hit(context, "login", ann)).rejects.toMatchObject({ status: 429 });
    expect(context.response.toResponse().headers.get("RateLimit")).toBe('"login-address";r=14;t=600, "login";r=0;t=60');
  });

  test("on a refusal, the policy is unchanged, and a bucket that was not checked is left out", async () => {
    const narrow = { ...ADDRESS, attempts: 1 };
    expect(await headers({ login: { buckets: [PAIR, narrow] } }, ["login"])).toEqual([
      '"login-address";q=1;w=600, "login";q=5;w=60',
      '"login-address";r=0;t=600, "login";r=4;t=60',
    ]);
    travel(0);
    const throttle = create({ login: { buckets: [PAIR, narrow] } });
    await throttle.consume("login", ann);
    const context = makeContext({ ip: ann.address });
    await expect(throttle.hit(context, "login", ann)).rejects.toMatchObject({ status: 429 });
    const answer = context.response.toResponse().headers;
    expect([answer.get("RateLimit-Policy"), answer.get("RateLimit")]).toEqual([
      '"login-address";q=1;w=600, "login";q=5;w=60',
      '"login-address";r=0;t=600',
    ]);
  });

  test("do not reveal how often other clients have tried an account", async () => {
    expect(await headers({ mail: { buckets: [PAIR, ACCOUNT] } }, ["mail"])).toEqual([
      '"mail";q=5;w=60',
      '"mail";r=4;t=60',
    ]);
    expect(await headers({ mail: { buckets: [ACCOUNT] } }, ["mail"])).toEqual([null, null]);
  });
});
