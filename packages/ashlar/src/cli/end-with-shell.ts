/** How often to look whether the shell is still there. */
const INTERVAL_MS = 500;

/**
 * Ends the process as SIGTERM does, once the shell that npm started it with has ended. npm hands a signal to that shell
 * alone, and a shell such as dash doesn't pass it on: a server that a supervisor told to stop would go on, and keep its
 * port.
 */
export function endWithShell(): void {
  if (process.env.npm_lifecycle_event === undefined || process.platform === "win32") return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, INTERVAL_MS).unref();
}
