import { connect, type Socket } from "node:net";
import type { ConnectionOptions as TlsOptions } from "node:tls";
import type * as Mysql from "mysql2";
import type { Connection, ConnectionOptions, FieldPacket, ResultSetHeader, SslOptions } from "mysql2";
import type { Row } from "../dialect/executor.ts";
import { DatabaseError } from "../errors.ts";
import { MARIADB, type MariadbServer, serverOf, sessionStatements } from "./mariadb-server.ts";
import type { CompleteMariadbSettings } from "./mariadb-settings.ts";
import { exactRows } from "./mariadb-values.ts";
import { warningCount } from "./warning-count.ts";

/** How much longer than the server's own limit a statement may take before the connection is dropped, in milliseconds. */
const GRACE_MS = 1000;

/** Prepared statements per connection: a server has at most 16,382 for all of its connections by default. */
const PREPARED_STATEMENTS = 200;

/** A statement's result. */
export interface Answer {
  /** `null` for a statement that returns no rows. */
  readonly rows: Row[] | null;
  readonly affectedRows: number;
  /** The auto-increment key of an insert; 0 if there isn't one. */
  readonly insertId: number;
  /** The number of the server's warnings; `null` if unknown. */
  readonly warnings: number | null;
}

/** Options for opening a client. */
export interface ClientSetup {
  readonly settings: CompleteMariadbSettings;
  /** The connections' encryption; `null` if there isn't any. */
  readonly ssl: TlsOptions | null;
  /** The connection's location in the configuration. */
  readonly where: string;
  /** See `DialectSetup`. */
  readonly maxQueueMs?: number;
}

/** One of the driver's connections to the server, with a time limit for everything. */
export class MariadbClient {
  server: MariadbServer = MARIADB;
  /** Whether the client must not be used again. */
  isDead = false;
  /** When it was last used, on the process's monotonic clock. */
  usedAt = 0;
  /** How long the server may take to run a statement, in milliseconds; `null` for no limit. */
  statementTimeoutMs: number | null;
  readonly #connection: Connection;
  readonly #socket: Socket;

  private constructor(connection: Connection, socket: Socket, statementTimeoutMs: number | null) {
    this.#connection = connection;
    this.#socket = socket;
    this.statementTimeoutMs = statementTimeoutMs;
    // If a statement is running, it reports the failed connection. Without a listener, a server restart would end the
    // process.
    connection.on("error", () => {
      this.isDead = true;
    });
    connection.on("end", () => {
      this.isDead = true;
    });
  }

  /**
   * Connects, logs in and begins the session.
   *
   * @throws the driver's error; `E_DATABASE_UNAVAILABLE` if the server doesn't respond in time
   */
  static async open({ createConnection }: typeof Mysql, setup: ClientSetup): Promise<MariadbClient> {
    const { settings } = setup;
    const options = optionsFor(setup);
    // The socket is ours, because the driver only ends its own, which a frozen server never notices.
    const socket = connect({ host: settings.host, port: settings.port, keepAlive: true, noDelay: true });
    const connection = createConnection({ ...options, stream: socket });
    const client = new MariadbClient(connection, socket, settings.statementTimeoutMs);
    try {
      await client.#within(settings.acquireTimeoutMs, (done) =>
        client.#connection.connect((error) => done(error, null)),
      );
      const { rows } = await client.send("select version() as version", []);
      client.server = serverOf(String(rows![0]!.version));
      for (const text of sessionStatements(client.server, settings)) await client.send(text, []);
      return client;
    } catch (error) {
      client.destroy();
      throw error;
    }
  }

  /**
   * Runs a statement.
   *
   * @throws the driver's error; `E_DATABASE_UNAVAILABLE` if the server doesn't respond in time, after which the client is
   * dead
   */
  send(text: string, values: readonly unknown[]): Promise<Answer> {
    const limitMs = this.statementTimeoutMs === null ? null : this.statementTimeoutMs + GRACE_MS;
    return this.#within(limitMs, (done) => {
      const finish = (error: unknown, result?: unknown, fields?: FieldPacket[]): void => {
        if (error !== null && error !== undefined) done(error, null as never);
        else done(null, answerOf(result as Row[] | ResultSetHeader, fields, warnings()));
      };
      // Some statements can't be prepared, more on MySQL than on MariaDB, but those never have values.
      const statement =
        values.length === 0
          ? this.#connection.query(text, finish)
          : this.#connection.execute(text, values as never, finish);
      const warnings = warningCount(statement);
    });
  }

  /** @returns whether the server responds within this time */
  async isAlive(limitMs: number): Promise<boolean> {
    const ping = this.#within<null>(limitMs, (done) => this.#connection.ping((error) => done(error, null)));
    return await ping.then(
      () => true,
      () => false,
    );
  }

  /** Closes the connection gracefully. */
  async end(): Promise<void> {
    this.isDead = true;
    await this.#within<null>(GRACE_MS, (done) => this.#connection.end((error) => done(error, null))).catch(() => {});
    this.#socket.destroySoon();
  }

  /** Drops the connection at once, even while a statement is running. */
  destroy(): void {
    this.isDead = true;
    this.#connection.destroy();
    this.#socket.destroy();
  }

  #within<T>(limitMs: number | null, begin: (done: (error: unknown, result: T) => void) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.destroy();
        const problem = `The database server did not respond within ${limitMs} ms.`;
        reject(new DatabaseError(problem, null, null, "E_DATABASE_UNAVAILABLE"));
      };
      const timer = limitMs === null ? undefined : setTimeout(giveUp, limitMs);
      begin((error, result) => {
        clearTimeout(timer);
        this.usedAt = performance.now();
        if (error === null || error === undefined) resolve(result);
        else reject(error);
      });
    });
  }
}

function answerOf(result: Row[] | ResultSetHeader, fields: FieldPacket[] | undefined, warnings: number | null): Answer {
  if (Array.isArray(result)) return { rows: exactRows(result, fields ?? []), affectedRows: 0, insertId: 0, warnings };
  const { affectedRows, insertId, warningStatus } = result;
  return { rows: null, affectedRows, insertId, warnings: warningStatus };
}

function optionsFor({ settings, ssl }: ClientSetup): ConnectionOptions {
  const { host, port, user, password, database, acquireTimeoutMs, tls } = settings;
  return {
    // The socket is already connected, so the driver uses the host only to check the certificate.
    host: tls === null || tls === false ? host : (tls.servername ?? host),
    port,
    ...(user !== null && { user }),
    ...(password !== null && { password }),
    ...(database !== null && { database }),
    ...(ssl !== null && tls && { ssl: { ...driverOptions(ssl), verifyIdentity: tls.verifiesName } }),
    connectTimeout: acquireTimeoutMs,
    charset: "UTF8MB4_BIN",
    timezone: "Z",
    // A day is not a point in time: as a Date, it would be the day before in time zones to the west.
    dateStrings: ["DATE"],
    jsonStrings: true,
    supportBigNumbers: true,
    maxPreparedStatements: PREPARED_STATEMENTS,
    // Security: the server can't request files from the client, and column names never become code.
    flags: ["-LOCAL_FILES"],
    disableEval: true,
    trace: false,
  };
}

/** Converts the options to the driver's types. */
function driverOptions({ ca, cert, key }: TlsOptions): SslOptions {
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  } as SslOptions;
}
