import type { ApplicationStats } from "../boot/index.ts";
import { ERRORS } from "../support/index.ts";

/** The labels of a value. They have a limited number of values: the application's routes, connections and events. */
export type Labels = Readonly<Record<string, string>>;

/** A value of a metric. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** The name in the output, if it differs from the metric's. The parts of a histogram have their own names. */
  readonly metricName?: string;
}

/** A metric with its values, in prom-client's form. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly values: readonly Sample[];
}

/** A metric, and how to read its values from an application's numbers. */
interface Metric extends Omit<Family, "values"> {
  readonly read: (stats: ApplicationStats) => readonly Sample[];
}

/** How many connections the primary process has accepted that a worker hasn't taken yet. */
export function waitingConnections(count: number): Family {
  return {
    name: "ashlar_worker_waiting_connections",
    help: "Connections that the primary process has accepted, and that wait until the worker takes them.",
    type: "gauge",
    values: [{ labels: {}, value: count }],
  };
}

/** How many connections the primary process has refused on behalf of a worker. */
export function refusedConnections(count: number): Family {
  return {
    name: "ashlar_worker_refused_connections_total",
    help: "Connections that the primary process has refused with 503, because they had waited too long for the worker.",
    type: "counter",
    values: [{ labels: {}, value: count }],
  };
}

/** The label for all requests without a route, because clients can make up any number of paths. */
const NO_ROUTE = "none";

const METRICS: readonly Metric[] = [
  {
    name: "ashlar_http_requests_total",
    help: "Requests by method and pattern of the route, and class of the status.",
    type: "counter",
    read: ({ requests }) =>
      requests.flatMap((route) =>
        Object.entries(route.statuses).map(([status, value]) => ({ labels: { ...labelsOf(route), status }, value })),
      ),
  },
  {
    name: "ashlar_http_request_duration_seconds",
    help: "The time from the headers of a request to the end of its response, by method and pattern of the route.",
    type: "histogram",
    read: ({ requests }) =>
      requests.flatMap((route) => histogram("ashlar_http_request_duration_seconds", labelsOf(route), route.latency)),
  },
  {
    name: "ashlar_errors_total",
    help: "Errors that requests ended with, by code and the status of that code.",
    type: "counter",
    // A series has to begin at 0. Otherwise, the first error of its kind wouldn't count as an increase.
    read: ({ errors }) =>
      Object.entries(ERRORS).map(([code, [status]]) => {
        return { labels: { code, status: String(status) }, value: errors[code] ?? 0 };
      }),
  },
  {
    name: "ashlar_event_loop_utilization_ratio",
    help: "The part of the last ten seconds in which the event loop was working.",
    type: "gauge",
    read: ({ eventLoop }) => (eventLoop === null ? [] : single(eventLoop.utilization)),
  },
  {
    name: "ashlar_event_loop_delay_seconds",
    help: "How late the event loop was in the last ten seconds.",
    type: "gauge",
    read: ({ eventLoop }) =>
      eventLoop === null
        ? []
        : byLabel("statistic", eventLoop.delayMs).map((one) => ({ ...one, value: one.value / 1000 })),
  },
  {
    name: "ashlar_database_pool_connections",
    help: "The connections of a pool: how many there may be, are open and are used, and how many callers wait for one.",
    type: "gauge",
    read: ({ database = {} }) =>
      Object.entries(database).flatMap(([connection, usage]) =>
        byLabel("state", usage).map(({ labels, value }) => ({ labels: { connection, ...labels }, value })),
      ),
  },
  {
    name: "ashlar_database_replicas",
    help: "The read replicas of a connection: how many are used, don't respond, and are too far behind.",
    type: "gauge",
    read: ({ replicas = {} }) =>
      Object.entries(replicas).flatMap(([connection, usage]) =>
        byLabel("state", usage).map(({ labels, value }) => ({ labels: { connection, ...labels }, value })),
      ),
  },
  {
    name: "ashlar_redis_up",
    help: "Whether a connection to Redis can be used right now: 1 or 0.",
    type: "gauge",
    read: ({ redis }) => byConnection(redis, ({ isUp }) => Number(isUp)),
  },
  {
    name: "ashlar_redis_reconnects_total",
    help: "How often a connection to Redis was made again.",
    type: "counter",
    read: ({ redis }) => byConnection(redis, ({ reconnects }) => reconnects),
  },
  {
    name: "ashlar_redis_command_failures_total",
    help: "Commands that failed, or could not be sent.",
    type: "counter",
    read: ({ redis }) => byConnection(redis, ({ failures }) => failures),
  },
  {
    name: "ashlar_redis_command_duration_seconds",
    help: "The time that successful commands took.",
    type: "histogram",
    read: ({ redis = {} }) =>
      Object.entries(redis).flatMap(([connection, { latency }]) =>
        histogram("ashlar_redis_command_duration_seconds", { connection }, latency),
      ),
  },
  {
    name: "ashlar_password_hashing_jobs",
    help: "Passwords that are being hashed, and passwords that wait to be.",
    type: "gauge",
    read: ({ hashing }) => byLabel("state", hashing),
  },
  {
    name: "ashlar_background_jobs",
    help: "Unfinished jobs that requests left behind.",
    type: "gauge",
    read: ({ backgroundJobs }) => single(backgroundJobs),
  },
  {
    name: "ashlar_prune_last_success_timestamp_seconds",
    help: "When this process last deleted expired rows without a failure.",
    type: "gauge",
    read: ({ prunedAt }) => (prunedAt === null ? [] : single(prunedAt / 1000)),
  },
  {
    name: "ashlar_mails_queued",
    help: "Mails that wait to be sent.",
    type: "gauge",
    read: ({ mail }) => (mail === undefined ? [] : single(mail.queued)),
  },
  {
    name: "ashlar_mails_total",
    help: "Mails that a mail server has accepted, and mails that will never be sent.",
    type: "counter",
    read: ({ mail }) => (mail === undefined ? [] : byLabel("result", { sent: mail.sent, failed: mail.failed })),
  },
  {
    name: "ashlar_mail_outbox",
    help: "Mails in the outbox of all processes: how many wait to be sent, and how many were abandoned; at most 10,000 of each.",
    type: "gauge",
    read: ({ mail }) => {
      if (mail === undefined || mail.outbox === null) return [];
      const { waiting, failed } = mail.outbox;
      return byLabel("state", { waiting, failed });
    },
  },
  {
    name: "ashlar_mail_outbox_oldest_seconds",
    help: "How long ago the oldest mail that waits in the outbox was queued, by priority.",
    type: "gauge",
    read: ({ mail }) =>
      mail === undefined || mail.outbox === null ? [] : byLabel("priority", mail.outbox.oldestSeconds),
  },
  {
    name: "ashlar_mail_failed_attempts_total",
    help: "Failed attempts to send a mail, including those that are repeated.",
    type: "counter",
    read: ({ mail }) => (mail === undefined ? [] : single(mail.failedAttempts)),
  },
  {
    name: "ashlar_authentications_total",
    help: "Requests of other frameworks that were authenticated, by outcome.",
    type: "counter",
    read: ({ authentications = {} }) => byLabel("result", authentications),
  },
  {
    name: "ashlar_events_total",
    help: "Security events: logins, failures, lockouts, tokens and so on.",
    type: "counter",
    read: ({ events = {} }) => byLabel("event", events),
  },
  {
    name: "process_resident_memory_bytes",
    help: "The memory that the system has given to the process.",
    type: "gauge",
    read: ({ process }) => single(process.residentBytes),
  },
  {
    name: "nodejs_heap_size_used_bytes",
    help: "The memory of JavaScript objects.",
    type: "gauge",
    read: ({ process }) => single(process.heapUsedBytes),
  },
  {
    name: "nodejs_heap_size_total_bytes",
    help: "The memory reserved for JavaScript objects.",
    type: "gauge",
    read: ({ process }) => single(process.heapTotalBytes),
  },
  {
    name: "process_cpu_seconds_total",
    help: "The CPU time that the process has used.",
    type: "counter",
    read: ({ process }) => single(process.cpuSeconds),
  },
  {
    name: "ashlar_uptime_seconds",
    help: "How long the application has been running.",
    type: "gauge",
    read: ({ uptimeSeconds }) => single(uptimeSeconds),
  },
];

/** The framework's metrics, with their current values. */
export function familiesOf(stats: ApplicationStats): Family[] {
  return METRICS.map(({ name, help, type, read }) => ({ name, help, type, values: read(stats) }));
}

/** The names of the framework's metrics. */
export const METRIC_NAMES: readonly string[] = METRICS.map(({ name }) => name);

type RedisStats = NonNullable<ApplicationStats["redis"]>;
type RouteOf = ApplicationStats["requests"][number];

function labelsOf({ route, methods }: RouteOf): Labels {
  return { method: methods.length === 0 ? NO_ROUTE : methods.join("|"), route: route ?? NO_ROUTE };
}

/** A histogram in Prometheus's form, in which each bucket counts everything up to its bound, in seconds. */
function histogram(name: string, labels: Labels, { boundsMs, counts, count, sumMs }: RouteOf["latency"]): Sample[] {
  let total = 0;
  const buckets = boundsMs.map((bound, index) => {
    total += counts[index]!;
    return { labels: { le: String(bound / 1000), ...labels }, value: total, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { labels: { le: "+Inf", ...labels }, value: count, metricName: `${name}_bucket` },
    { labels, value: sumMs / 1000, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ];
}

function byConnection(redis: RedisStats = {}, read: (usage: RedisStats[string]) => number): Sample[] {
  return Object.entries(redis).map(([connection, usage]) => ({ labels: { connection }, value: read(usage) }));
}

function single(value: number): readonly Sample[] {
  return [{ labels: {}, value }];
}

function byLabel(label: string, values: Readonly<Record<string, number>> | object): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value: value as number }));
}
