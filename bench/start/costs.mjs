// Imports modules one after the other, and prints the cost of each: `node costs.mjs <compile-cache.js> <url>…`. A module's
// cost includes those it imports that were not loaded before.
const [, , cache, ...urls] = process.argv;
const { keepCompiledCode } = await import(cache);
keepCompiledCode();
const costs = [];
for (const url of urls) {
  const cpu = process.cpuUsage();
  const rss = process.memoryUsage.rss();
  if (url.startsWith("builtin:")) process.getBuiltinModule(url.slice("builtin:".length));
  else await import(url);
  const { user, system } = process.cpuUsage(cpu);
  costs.push({ url, ms: (user + system) / 1000, bytes: process.memoryUsage.rss() - rss });
}
console.log(JSON.stringify(costs));
process.exit();
