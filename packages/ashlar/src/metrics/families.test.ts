import { expect, test } from "vitest";
import type { ApplicationStats } from "../boot/index.ts";
import { ERRORS } from "../support/index.ts";
import { familiesOf } from "./families.ts";

const LATENCY = { boundsMs: [5, 250], counts: [3, 2, 1], count: 6, sumMs: 1500 };

/** The statistics of an application without features. */
const BASE: ApplicationStats = {
  uptimeSeconds: 7,
  requests: [],
  errors: {},
  eventLoop: null,
  hashing: { running: 1, waiting: 2 },
  backgroundJobs: 3,
  prunedAt: null,
  process: { residentBytes: 10, heapUsedBytes: 11, heapTotalBytes: 12, cpuSeconds: 13 },
} as unknown as ApplicationStats;

/** All values of all metrics, as `name{label="value"} number`. */
function valuesIn(stats: ApplicationStats): string[] {
  return familiesOf(stats).flatMap(({ name, values }) =>
    values.map(({ labels, value, metricName }) => {
      const written = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
      return `${metricName ?? name}${written.length === 0 ? "" : `{${written.join()}}`} ${value}`;
    }),
  );
}

/** The values in addition to those of {@link BASE}, without errors that never occurred. */
const added = (stats: object): string[] => {
  const before = new Set(valuesIn(BASE));
  return valuesIn({ ...BASE, ...stats } as ApplicationStats).filter((line) => !before.has(line));
};

test("an application without features has every process's metrics, and every error code from the start", () => {
  expect(valuesIn(BASE)).toEqual([
    ...Object.entries(ERRORS).map(([code, [status]]) => `ashlar_errors_total{code="${code}",status="${status}"} 0`),
    'ashlar_password_hashing_jobs{state="running"} 1',
    'ashlar_password_hashing_jobs{state="waiting"} 2',
    "ashlar_background_jobs 3",
    "process_resident_memory_bytes 10",
    "nodejs_heap_size_used_bytes 11",
    "nodejs_heap_size_total_bytes 12",
    "process_cpu_seconds_total 13",
    "ashlar_uptime_seconds 7",
  ]);
});

test("requests are counted by route, and their durations add up bucket by bucket, in seconds", () => {
  const requests = [
    { route: "/orders", methods: ["GET", "HEAD"], statuses: { "2xx": 5, "5xx": 1 }, latency: LATENCY },
    {
      route: null,
      methods: [],
      statuses: { "4xx": 2 },
      latency: { ...LATENCY, counts: [0, 0, 0], count: 0, sumMs: 0 },
    },
  ];
  const [orders, none] = ['method="GET|HEAD",route="/orders"', 'method="none",route="none"'];
  const name = "ashlar_http_request_duration_seconds";
  expect(added({ requests })).toEqual([
    `ashlar_http_requests_total{${orders},status="2xx"} 5`,
    `ashlar_http_requests_total{${orders},status="5xx"} 1`,
    `ashlar_http_requests_total{${none},status="4xx"} 2`,
    `${name}_bucket{le="0.005",${orders}} 3`,
    `${name}_bucket{le="0.25",${orders}} 5`,
    `${name}_bucket{le="+Inf",${orders}} 6`,
    `${name}_sum{${orders}} 1.5`,
    `${name}_count{${orders}} 6`,
    `${name}_bucket{le="0.005",${none}} 0`,
    `${name}_bucket{le="0.25",${none}} 0`,
    `${name}_bucket{le="+Inf",${none}} 0`,
    `${name}_sum{${none}} 0`,
    `${name}_count{${none}} 0`,
  ]);
});

test("a process that has pruned reports when, in seconds", () => {
  expect(added({ prunedAt: 1_790_000_000_500 })).toEqual(["ashlar_prune_last_success_timestamp_seconds 1790000000.5"]);
});

test("the event loop's delays are in seconds", () => {
  expect(added({ eventLoop: { utilization: 0.5, delayMs: { mean: 10, p99: 250 } } })).toEqual([
    "ashlar_event_loop_utilization_ratio 0.5",
    'ashlar_event_loop_delay_seconds{statistic="mean"} 0.01',
    'ashlar_event_loop_delay_seconds{statistic="p99"} 0.25',
  ]);
});

test("each feature has its own metrics", () => {
  expect(
    added({
      errors: { E_INVALID_CONFIGURATION: 4 },
      database: { main: { max: 10, used: 2 }, reports: { max: 5, used: 0 } },
      replicas: { main: { used: 1, away: 2 } },
      mail: {
        ...{ queued: 1, sent: 2, failed: 3, failedAttempts: 9 },
        outbox: { waiting: 4, failed: 5, oldestSeconds: { account: 0, ordinary: 1.5, bulk: 60 } },
      },
      authentications: { user: 6, guest: 7 },
      events: { "auth.login": 8 },
    }),
  ).toEqual([
    'ashlar_errors_total{code="E_INVALID_CONFIGURATION",status="500"} 4',
    'ashlar_database_pool_connections{connection="main",state="max"} 10',
    'ashlar_database_pool_connections{connection="main",state="used"} 2',
    'ashlar_database_pool_connections{connection="reports",state="max"} 5',
    'ashlar_database_pool_connections{connection="reports",state="used"} 0',
    'ashlar_database_replicas{connection="main",state="used"} 1',
    'ashlar_database_replicas{connection="main",state="away"} 2',
    "ashlar_mails_queued 1",
    'ashlar_mails_total{result="sent"} 2',
    'ashlar_mails_total{result="failed"} 3',
    'ashlar_mail_outbox{state="waiting"} 4',
    'ashlar_mail_outbox{state="failed"} 5',
    'ashlar_mail_outbox_oldest_seconds{priority="account"} 0',
    'ashlar_mail_outbox_oldest_seconds{priority="ordinary"} 1.5',
    'ashlar_mail_outbox_oldest_seconds{priority="bulk"} 60',
    "ashlar_mail_failed_attempts_total 9",
    'ashlar_authentications_total{result="user"} 6',
    'ashlar_authentications_total{result="guest"} 7',
    'ashlar_events_total{event="auth.login"} 8',
  ]);
});

test("an outbox that can't be read has no metrics, and other mails keep theirs", () => {
  const mail = { queued: 1, sent: 2, failed: 3, failedAttempts: 9, outbox: null };
  expect(added({ mail }).filter((line) => line.includes("outbox"))).toEqual([]);
  expect(added({ mail })).toHaveLength(4);
});

test("each Redis connection has its own metrics", () => {
  const redis = {
    session: { isUp: true, reconnects: 1, failures: 2, latency: LATENCY },
    throttle: { isUp: false, reconnects: 0, failures: 0, latency: { ...LATENCY, boundsMs: [], counts: [0], count: 0 } },
  };
  const [session, throttle] = ['connection="session"', 'connection="throttle"'];
  const name = "ashlar_redis_command_duration_seconds";
  expect(added({ redis })).toEqual([
    `ashlar_redis_up{${session}} 1`,
    `ashlar_redis_up{${throttle}} 0`,
    `ashlar_redis_reconnects_total{${session}} 1`,
    `ashlar_redis_reconnects_total{${throttle}} 0`,
    `ashlar_redis_command_failures_total{${session}} 2`,
    `ashlar_redis_command_failures_total{${throttle}} 0`,
    `${name}_bucket{le="0.005",${session}} 3`,
    `${name}_bucket{le="0.25",${session}} 5`,
    `${name}_bucket{le="+Inf",${session}} 6`,
    `${name}_sum{${session}} 1.5`,
    `${name}_count{${session}} 6`,
    `${name}_bucket{le="+Inf",${throttle}} 0`,
    `${name}_sum{${throttle}} 1.5`,
    `${name}_count{${throttle}} 0`,
  ]);
});
