import { Command } from "commander";
import { type Application, Inspection } from "../../boot/index.ts";
import type { CompiledRoute } from "../../routing/index.ts";
import { loadApplication } from "../load-application.ts";
import { type Terminal, table } from "../terminal.ts";

/** A route in the list. */
interface ShownRoute {
  readonly method: string;
  readonly path: string;
  readonly name: string;
  readonly stack: string;
  readonly limit: string | null;
  readonly handler: string;
  /** The file and line of the route's definition. */
  readonly location: string;
}

/** `routes`: lists the routes as the application matches them. */
export function routesCommand(terminal: Terminal): Command {
  return new Command("routes")
    .description("Lists the routes: method, path, name, stack, handler.")
    .option("--json", "as JSON")
    .action(async (options: { json?: true }) => {
      // Loads the application for inspection, to list routes without creating a database.
      const application = await new Inspection().run(() => loadApplication(terminal.root));
      try {
        const hasLimits = application.container.has("throttle");
        const rows: ShownRoute[] = application.router.routes.map((route) => ({
          method: route.methods.join("|"),
          path: (route.domain === null ? "" : `//${route.domain}`) + route.pattern,
          name: route.name ?? "",
          stack: route.middleware.join(", "),
          limit: hasLimits ? (route.mark?.countsBy ?? null) : null,
          handler: describeHandler(route),
          location: route.location,
        }));
        rows.push(...healthRows(application));
        if (options.json) {
          terminal.print(JSON.stringify(rows, null, 2));
          return;
        }
        const head = ["Method", "Path", "Name", "Stack", "Handler"];
        const cells = rows.map((row) => [row.method, row.path, row.name, stackOf(row), row.handler]);
        for (const line of table(head, cells)) terminal.print(line);
      } finally {
        await application.shutdown();
      }
    });
}

/**
 * The endpoints that aren't routes, and respond before any middleware, unless one of the application's routes has the
 * same path.
 */
function healthRows({ settings, router }: Application): ShownRoute[] {
  const { health } = settings.server;
  return (["up", "ready"] as const).flatMap((name) => {
    const path = health?.[name] ?? null;
    const isTaken = router.routes.some(({ pattern, methods }) => pattern === path && methods.includes("GET"));
    if (path === null || isTaken) return [];
    const location = `config/app.ts: APP.server.health.${name}`;
    return { method: "GET", path, name: "", stack: "", limit: null, handler: `health ${name}`, location };
  });
}

/** The middleware before a route's handler, and the limit that the handler itself counts against. */
function stackOf({ stack, limit }: { readonly stack: string; readonly limit: string | null }): string {
  if (limit === null) return stack;
  return `${stack === "" ? "" : `${stack}, `}throttle:${limit} (by the handler)`;
}

/** A short description of a route's handler: `OrdersController.show`, `view welcome`, `redirect /home`, `function`. */
function describeHandler({ handler }: CompiledRoute): string {
  if (typeof handler === "function") return handler.name === "" ? "function" : handler.name;
  if (!("kind" in handler)) return `${handler[0].name}.${handler[1]}`;
  return handler.kind === "view" ? `view ${handler.template}` : `redirect ${handler.to}`;
}
