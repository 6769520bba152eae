// Loaded before a server (`--import`). It writes a line of JSON about its process after each SIGUSR2. Plain JavaScript,
// because Node.js would load its TypeScript compiler for anything else.
import { registerHooks } from "node:module";

const loaded = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});

process.on("SIGUSR2", () => {
  const spaces = process.getBuiltinModule("node:v8").getHeapSpaceStatistics();
  const { rss, external } = process.memoryUsage();
  const builtins = process.moduleLoadList.filter((name) => name.startsWith("NativeModule ")).length;
  process._rawDebug(`probe ${JSON.stringify({ loaded, builtins, rss, external, spaces })}`);
});
