export {
  isNodeResponse,
  type NodeExchange,
  nodeExchange,
  type PreparedResponse,
  parsedUrl,
  plainTarget,
  preparedByNode,
  requestForFile,
  stopReading,
  takenBytes,
  unblockStandardStream,
  unfinishedResponse,
} from "./private-members.ts";
