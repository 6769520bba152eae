import { Command } from "commander";
import { Inspection } from "../../boot/index.ts";
import type { CompiledRoute } from "../../routing/index.ts";
import { loadApplication } from "../load-application.ts";
import { type Terminal, table } from "../terminal.ts";

/** `routes`: lists the routes as the application matches them. */
export function routesCommand(terminal: Terminal): Command {
  return new Command("routes")
    .description("Lists the routes: method, path, name, stack, handler.")
    .option("--json", "as JSON")
    .action(async (options: { json?: true }) => {
      // Without connecting: listing routes must not create a database.
      const application = await new Inspection().run(() => loadApplication(terminal.root));
      try {
        const rows = application.router.routes.map((route) => ({
          method: route.methods.join("|"),
          path: (route.domain === null ? "" : `//${route.domain}`) + route.pattern,
          name: route.name ?? "",
          stack: route.middleware.join(", "),
          handler: describeHandler(route),
          location: route.location,
        }));
        if (options.json) {
          terminal.print(JSON.stringify(rows, null, 2));
          return;
        }
        const head = ["Method", "Path", "Name", "Stack", "Handler"];
        const cells = rows.map((row) => [row.method, row.path, row.name, row.stack, row.handler]);
        for (const line of table(head, cells)) terminal.print(line);
      } finally {
        await application.shutdown();
      }
    });
}

/** A short description of a route's handler: `OrdersController.show`, `view welcome`, `redirect /home`, `function`. */
function describeHandler({ handler }: CompiledRoute): string {
  if (typeof handler === "function") return handler.name === "" ? "function" : handler.name;
  if (!("kind" in handler)) return `${handler[0].name}.${handler[1]}`;
  return handler.kind === "view" ? `view ${handler.template}` : `redirect ${handler.to}`;
}
