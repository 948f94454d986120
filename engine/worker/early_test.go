package worker_test

import _ "callgate/engine/worker/early" // the test's binary is the worker of its tests
