import { describe, expect, test } from "vitest";
import { ApiProvider } from "../../api/index.ts";
import { AuthProvider } from "../../auth/index.ts";
import { createApplication, declareFeature, type Feature, Provider, type ProviderClass } from "../../boot/index.ts";
import { HttpKernel, type RouteMiddleware } from "../../kernel/index.ts";
import { Route } from "../../routing/index.ts";
import { type LimitDeclaration, ThrottleMiddleware, ThrottleProvider } from "../index.ts";

class Kernel extends HttpKernel {
  override routeMiddleware: RouteMiddleware = { web: [], api: [], throttle: [ThrottleMiddleware] };
}

const ADDRESS = { by: ["address"], attempts: 1, windowSeconds: 60 } as const;

/** A provider whose feature declares limits. */
function declaring(limits: Readonly<Record<string, LimitDeclaration>>, name = "orders"): ProviderClass {
  return class extends Provider {
    static override readonly feature: Feature = declareFeature({ name, limits });
  };
}

function boot(providers: readonly ProviderClass[], throttle: object = {}, use = "throttle:orders") {
  return createApplication({
    kernel: Kernel,
    providers,
    environment: { APP_ENV: "test" },
    config: { throttle: { THROTTLE: throttle } },
    routes: [Route.post("/orders", () => "ordered").middleware(use)],
  });
}

async function statuses(application: Awaited<ReturnType<typeof boot>>, times: number): Promise<number[]> {
  const all: number[] = [];
  for (let time = 0; time < times; time++) {
    const request = new Request("http://localhost/orders", { method: "POST" });
    all.push((await application.fetch(request, { address: "203.0.113.7" })).status);
  }
  return all;
}

const Orders = declaring({ orders: { buckets: [ADDRESS] } });

describe("the limits that a feature declares", () => {
  test.each([
    ["before", [Orders, ThrottleProvider]],
    ["after", [ThrottleProvider, Orders]],
  ])("apply whether its provider comes %s that of limits", async (_, providers) => {
    expect(await statuses(await boot(providers), 2)).toEqual([200, 429]);
  });

  test("are replaced by the configuration's", async () => {
    const throttle = { limits: { orders: { buckets: [{ ...ADDRESS, attempts: 2 }] } } };
    expect(await statuses(await boot([Orders, ThrottleProvider], throttle), 3)).toEqual([200, 200, 429]);
  });

  test("are suggested for misspelled names", async () => {
    const providers = [Orders, ThrottleProvider];
    await expect(boot(providers, {}, "throttle:order")).rejects.toThrow('Did you mean "orders"?');
    const respelt = { limits: { Orders: { buckets: [ADDRESS] } } };
    await expect(boot(providers, respelt)).rejects.toThrow(
      'THROTTLE.limits.Orders: is not a known setting. Did you mean "orders"?',
    );
  });

  test("belong to one application: others in the process don't have them", async () => {
    await boot([Orders, ThrottleProvider]);
    await expect(boot([ThrottleProvider])).rejects.toThrow('no limit is called "orders".');
  });

  test("do nothing without limits", async () => {
    const application = await createApplication({ providers: [Orders], environment: { APP_ENV: "test" } });
    expect(application.container.has("throttle")).toBe(false);
  });
});

describe("startup failures", () => {
  test.each([
    [
      "a limit of another feature",
      [Orders, declaring({ orders: { buckets: [ADDRESS] } }, "shop")],
      '"orders" is already declared by orders',
    ],
    [
      "a limit of the framework",
      [AuthProvider, declaring({ login: { buckets: [ADDRESS] } })],
      '"login" is already declared by AuthProvider',
    ],
    [
      "a limit of the framework's accounts",
      [AuthProvider, declaring({ "email.resend": { buckets: [ADDRESS] } })],
      '"email.resend" is already declared by AuthProvider',
    ],
    [
      "a limit of the framework's API",
      [ApiProvider, declaring({ "api.reauth": { buckets: [ADDRESS] } })],
      '"api.reauth" is already declared by ApiProvider',
    ],
    ["the limit of no feature", [declaring({ api: { buckets: [ADDRESS] } })], '"api" is already declared by orders'],
  ] as const)("%s", async (_, providers, problem) => {
    const message = `the limit ${problem}. Give one of them another name.`;
    await expect(boot([...providers, ThrottleProvider])).rejects.toThrow(message);
  });

  test("a limit that cannot work", async () => {
    const none = declaring({ orders: { buckets: [{ ...ADDRESS, attempts: 0 }] } });
    await expect(boot([none, ThrottleProvider])).rejects.toThrow("orders.orders.buckets[0].attempts: ");
    const unnamed = declaring({ "7 orders": { buckets: [ADDRESS] } });
    await expect(boot([unnamed, ThrottleProvider])).rejects.toThrow("is not a valid name for a limit.");
  });
});
