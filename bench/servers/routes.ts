// An application with as many routes as the environment says.
import { createApplication, HttpKernel, Route } from "ashlar";

class Kernel extends HttpKernel {
  override routeMiddleware = { web: [], api: [] };
}

const count = Number(process.env.ROUTES);
const begin = performance.now();
const application = await createApplication({
  root: import.meta.dirname,
  kernel: Kernel,
  providers: [],
  environment: {
    APP_ENV: "production",
    APP_URL: "http://127.0.0.1",
    APP_KEY: "benchmark-only-".padEnd(64, "0123456789"),
  },
  config: { app: { APP: { name: "bench", log: { requests: false }, server: { maxQueueMs: 0 } } } },
  routes: [
    Route.get("/json", () => ({ hello: "world" })),
    Route.get("/booted", () => ({ ms: bootedAfter })),
    ...Array.from({ length: count }, (_, index) =>
      Route.get(`/shop/section-${index}/@id:int`, ({ request }) => ({ id: request.param("id") })).name(
        `section.${index}`,
      ),
    ),
  ],
});
const bootedAfter = performance.now() - begin;
await application.listen({ port: Number(process.env.PORT), hostname: "127.0.0.1" });
