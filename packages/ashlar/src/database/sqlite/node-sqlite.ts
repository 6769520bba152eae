import type * as sqlite from "node:sqlite";

const WARNING = "SQLite is an experimental feature and might change at any time";

/**
 * Loads `node:sqlite` without the warning that Node 24 would otherwise print each time a command or a server starts.
 *
 * Nothing else can be loaded in between, so no other warning is lost. If the application loads the module itself first,
 * it sees the warning.
 */
function loadSqlite(): typeof sqlite {
  const emit = process.emitWarning;
  process.emitWarning = (...args: unknown[]): void => {
    if (args[0] !== WARNING) Reflect.apply(emit, process, args);
  };
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    process.emitWarning = emit;
  }
}

/** SQLite's own database class, as exported by `node:sqlite`. */
export const DatabaseSync: typeof sqlite.DatabaseSync = loadSqlite().DatabaseSync;
export type DatabaseSync = sqlite.DatabaseSync;
