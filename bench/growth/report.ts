// The section of RESULTS.md.
import { median } from "../processes.ts";
import { type ConnectionGrowth, connectionRatio } from "./connections.ts";
import { type RouteGrowth, routeRatio, TARGETS } from "./routes.ts";
import {
  type EngineGrowth,
  lowestCost,
  OPERATIONS,
  type Operation,
  ratioOf,
  ratios,
  SIZES,
  TOLERANCE,
} from "./users.ts";

export const HEADING = "## Growth";

const NAMES: Readonly<Record<Operation, string>> = {
  session: "session request",
  token: "token check",
  lookup: "login look-up",
};

const count = (number: number): string => number.toLocaleString("en");
const SIDES = ["server", "database"] as const;

/** The requests whose cost grows more on a larger database than is tolerated. */
export function steep(growths: readonly EngineGrowth[]): readonly string[] {
  return growths.flatMap((growth) =>
    growth.series.flatMap((series) => {
      const ratio = ratioOf(growth, series, "server");
      if (ratio <= 1 + TOLERANCE) return [];
      return [
        `${NAMES[series.operation]} on ${growth.engine.name} with ${count(series.size)} users (${ratio.toFixed(2)})`,
      ];
    }),
  );
}

function usersTable(growths: readonly EngineGrowth[]): string[] {
  const rows = growths.flatMap((growth) =>
    OPERATIONS.flatMap((operation) =>
      SIZES.map((size) => {
        const series = growth.series.find((one) => one.operation === operation && one.size === size)!;
        const cells = SIDES.flatMap((side) => {
          if (side === "database" && growth.engine.driver === "sqlite") return ["", "", ""];
          const each = ratios(growth, series, side);
          return [
            lowestCost(series.costs, side).toFixed(1),
            `**${ratioOf(growth, series, side).toFixed(2)}**`,
            `${Math.min(...each).toFixed(2)} – ${Math.max(...each).toFixed(2)}`,
          ];
        });
        return `| ${growth.engine.name} | ${NAMES[operation]} | ${count(size)} | ${cells.join(" | ")} |`;
      }),
    ),
  );
  return [
    "| database | request | users and logins | server, CPU µs | ratio | in the rounds | database, CPU µs | ratio | in the rounds |",
    "|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ...rows,
  ];
}

function plansOf(growths: readonly EngineGrowth[]): string[] {
  return growths.flatMap(({ engine, plans }) => {
    return [
      `${engine.name}:`,
      "",
      "```",
      ...plans.flatMap(({ statement, plan }) => [short(statement), ...indented(plan), ""]),
    ]
      .slice(0, -1)
      .concat("```", "");
  });
}

/** A statement without its column names. */
const short = (statement: string): string => statement.replace(/^select .*? from /, "select … from ");
const indented = (plan: string): string[] => plan.split("\n").map((line) => `    ${line}`);

function routesTable(all: readonly RouteGrowth[]): string[] {
  const rows = all.map((one) => {
    const requests = TARGETS.map((target) => {
      return `${Math.min(...one.costs[target]).toFixed(1)} (${routeRatio(all, one, target).toFixed(2)})`;
    });
    const cells = [count(one.routes), one.bootMs.toFixed(0), one.memoryMb.toFixed(0), ...requests];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| routes | boot, ms | MB after it | first route, CPU µs | last route | no route: 404 |",
    "|--:|--:|--:|--:|--:|--:|",
    ...rows,
  ];
}

function connectionsTable(all: readonly ConnectionGrowth[]): string[] {
  const rows = all.map((one) => {
    const cells = [
      count(one.connections),
      one.memoryMb.toFixed(0),
      ((one.memoryMb * 1024) / one.connections).toFixed(1),
      `${Math.min(...one.costs).toFixed(1)} (${connectionRatio(all, one).toFixed(2)})`,
      median(one.p99).toFixed(0),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    "| open and idle | MB for them | KB for each | CPU µs of a request on others | p99, ms |",
    "|--:|--:|--:|--:|--:|",
    ...rows,
  ];
}

/** The contents of the report. */
export interface Growth {
  readonly users: readonly EngineGrowth[];
  readonly routes: readonly RouteGrowth[];
  readonly connections: readonly ConnectionGrowth[];
  /** How long each round took, in seconds. */
  readonly seconds: number;
  /** The CPU time of a password's hash, in milliseconds. */
  readonly hashMs: number;
  /** The highest load average of the machine before a part of the run. */
  readonly busy: number;
}

/** The lines of the section. */
export function section({ users, routes, connections, seconds, busy }: Growth): string[] {
  const versions = users.map(({ engine }) => `${engine.name} ${engine.version}`).join(", ");
  const numbers = users.flatMap(({ series }) => series.map(({ costs }) => costs.length));
  const rounds = [...new Set([Math.min(...numbers), Math.max(...numbers)])].join(" to ");
  const missed = steep(users);
  const verdict = missed.length === 0 ? ["."] : ["; not reached in this run:", "", ...missed.map((one) => `- ${one}`)];
  return [
    HEADING,
    "",
    `Measured on its own by \`npm run bench:growth\` on ${new Date().toISOString().slice(0, 10)}, with ${versions}. The load average of the machine was up to`,
    `${busy.toFixed(1)} before its parts. Servers that differ only in size take turns: ${rounds} rounds of ${seconds} s each. The costs are CPU time per`,
    "request, the lowest of the rounds, because the machine's other work only adds to them; each ratio is to the first size.",
    "",
    "### Users and logins",
    "",
    "The tables are those of a new application's migrations. The requests come from 1,000 users all over the tables, the same",
    "number for each size, 64 at a time. A session request is a page with its login, session and user; a token check is an API",
    "request with `authenticates`; a login look-up is what a login does before it hashes. The database's time is that of its",
    "own processes or threads, for the connections of the server.",
    "",
    ...usersTable(users),
    "",
    `Goal: with each size, a request costs the server at most ${TOLERANCE * 100} % more than with ${count(SIZES[0]!)} users${verdict[0]}`,
    ...verdict.slice(1),
    "",
    `How the database runs their statements with ${count(SIZES.at(-1)!)} users:`,
    "",
    ...plansOf(users),
    "### Routes",
    "",
    ...routesTable(routes),
    "",
    "### Connections",
    "",
    "The requests come on 64 further connections.",
    "",
    ...connectionsTable(connections),
    "",
  ];
}
