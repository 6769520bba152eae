import assert from "node:assert/strict";
import { type Application, createApplication } from "../../../boot/index.ts";
import { HttpKernel, type RouteMiddleware } from "../../../kernel/index.ts";
import { Route } from "../../../routing/index.ts";
import { generateSecret, randomToken } from "../../../security/index.ts";
import { SessionMiddleware, SessionProvider, type SessionStore } from "../../../session/index.ts";
import type { TestClient } from "../../client/test-client.ts";

/** Tests of a store in an application that uses it. */
export const IN_APPLICATION: readonly (readonly [title: string, test: (visit: () => TestClient) => Promise<void>])[] = [
  [
    "a visitor gets their stored values, and no other visitor does",
    async (visit) => {
      const [ada, grace] = [visit(), visit()];
      await ada.get("/put/name/Ada");
      await grace.get("/put/name/Grace");
      await ada.get("/put/city/London");
      assert.deepEqual(await all(ada), { name: "Ada", city: "London" });
      assert.deepEqual(await all(grace), { name: "Grace" });
      assert.deepEqual(await all(visit()), {});
    },
  ],
  [
    "flashed values exist for one request",
    async (visit) => {
      const ada = visit();
      await ada.get("/flash/status/Saved");
      assert.deepEqual(await all(ada), { status: "Saved" });
      assert.deepEqual(await all(ada), {});
    },
  ],
  [
    "a new id keeps the session's contents",
    async (visit) => {
      const ada = visit();
      await ada.get("/put/name/Ada");
      const before = cookieOf(ada);
      await ada.get("/regenerate");
      assert.notEqual(cookieOf(ada), before);
      assert.deepEqual(await all(ada), { name: "Ada" });
    },
  ],
  [
    "an invalidated session is empty, and continues as a new one",
    async (visit) => {
      const ada = visit();
      await ada.get("/put/name/Ada");
      await ada.get("/invalidate");
      assert.deepEqual(await all(ada), {});
      await ada.get("/put/city/London");
      assert.deepEqual(await all(ada), { city: "London" });
    },
  ],
  [
    "a cookie without a session neither opens one nor causes an error",
    async (visit) => {
      for (const text of [randomToken(), "x", `${randomToken()}'`, "A".repeat(3000)]) {
        const answer = await visit().get("/all", { headers: { cookie: `session=${text}` } });
        assert.deepEqual([answer.status, answer.json], [200, {}]);
      }
    },
  ],
];

/** Creates an application with routes that use its sessions. */
export async function applicationWith(store: SessionStore | "cookie"): Promise<Application> {
  class Kernel extends HttpKernel {
    override routeMiddleware: RouteMiddleware = { web: [SessionMiddleware] };
  }
  return await createApplication({
    kernel: Kernel,
    routes: [
      Route.get("/all", ({ session }) => session.all()),
      Route.get("/put/@key/@value", ({ session, request }) => {
        return session.put(request.param("key")!, request.param("value")).all();
      }),
      Route.get("/flash/@key/@value", ({ session, request }) => {
        return session.flash(request.param("key")!, request.param("value")).all();
      }),
      Route.get("/regenerate", ({ session }) => session.regenerate().all()),
      Route.get("/invalidate", ({ session }) => session.invalidate().all()),
    ],
    providers: [SessionProvider],
    config: { session: { SESSION: { store } } },
    environment: { APP_ENV: "test", APP_KEY: generateSecret() },
  });
}

async function all(client: TestClient): Promise<unknown> {
  return (await client.get("/all")).json;
}

function cookieOf(client: TestClient): string | null {
  return client.cookies.get("session");
}
