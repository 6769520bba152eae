// Cleans up after a test run, however it ended: normally, with Ctrl+C, or killed. Its input is a pipe from the run's process,
// which the system closes.
import { text } from "node:stream/consumers";
import { endProcessesOf } from "./run-processes.ts";

const folder = process.argv[2]!;
// A run that ends normally sends a message, because it ends its own workers.
if ((await text(process.stdin)) === "") await endProcessesOf(folder);
// Imported late, because the database clients are only needed now.
const { removeRun } = await import("./run-folder.ts");
await removeRun(folder);
