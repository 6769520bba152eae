/** What this process runs on. Bun and Deno have the version of the Node.js that they imitate beside their own. */
export const RUNTIME: "node" | "bun" | "deno" =
  process.versions.bun !== undefined ? "bun" : process.versions.deno !== undefined ? "deno" : "node";
