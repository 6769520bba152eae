// The section of RESULTS.md about tokens of many().
import { TOKEN_SIZES, type TokenGrowth } from "./tokens.ts";
import { lowestCost, TOLERANCE } from "./users.ts";

type Series = TokenGrowth["series"][number];

const count = (number: number): string => number.toLocaleString("en");

export const TOKENS_HEADING = "## Tokens of many()";

/** A size's lowest cost, relative to the first size's. */
function ratioOf({ series }: TokenGrowth, { costs }: Series, side: "server" | "database"): number {
  return lowestCost(costs, side) / lowestCost(series[0]!.costs, side);
}

/** The engines on which a token check with the most rows costs the server more than is tolerated. */
export function steepChecks(growths: readonly TokenGrowth[]): readonly string[] {
  return growths
    .filter((growth) => ratioOf(growth, growth.series.at(-1)!, "server") > 1 + TOLERANCE)
    .map(({ engine }) => engine.name);
}

/** The lines of the section. */
export function tokenSection(growths: readonly TokenGrowth[], seconds: number, busy: number): string[] {
  const rows = growths.flatMap((growth) =>
    growth.series.map((series) => {
      const cells = (["server", "database"] as const).flatMap((side) => {
        if (side === "database" && growth.engine.driver === "sqlite") return ["", ""];
        return [lowestCost(series.costs, side).toFixed(1), `**${ratioOf(growth, series, side).toFixed(2)}**`];
      });
      return `| ${growth.engine.name} | ${count(series.size)} | ${cells.join(" | ")} |`;
    }),
  );
  const missed = steepChecks(growths);
  const rounds = Math.min(...growths.flatMap(({ series }) => series.map(({ costs }) => costs.length)));
  const versions = growths.map(({ engine }) => `${engine.name} ${engine.version}`).join(", ");
  return [
    TOKENS_HEADING,
    "",
    `Measured on its own by \`npm run bench:growth -- ${growths.map(({ engine }) => `tokens-${engine.driver}`).join(" ")}\` on ${new Date().toISOString().slice(0, 10)}, with ${versions}.`,
    `The load average of the machine was up to ${busy.toFixed(1)} before its parts. A check is an API request with \`authenticates\`: one statement finds`,
    "the token's row and its user. The requests come with 1,000 tokens all over the table, which has ten for each user, 64 at a",
    `time. The sizes take turns: ${rounds} rounds of ${seconds} s each. The costs are CPU time per request, the lowest of the rounds.`,
    "",
    "| database | tokens | server, CPU µs | ratio | database, CPU µs | ratio |",
    "|---|--:|--:|--:|--:|--:|",
    ...rows,
    "",
    `Goal: a check costs the server at most ${TOLERANCE * 100} % more with ${count(TOKEN_SIZES[1])} tokens than with ${count(TOKEN_SIZES[0])}${missed.length === 0 ? "." : `; not reached in this run: ${missed.join(", ")}.`}`,
    "",
    `How the database runs the statement with ${count(TOKEN_SIZES[1])} tokens:`,
    "",
    ...growths.flatMap(({ engine, plan }) => [`${engine.name}:`, "", "```", plan, "```", ""]),
  ];
}
