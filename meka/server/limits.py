"""The process's limit on open descriptors."""

import logging
import resource

logger = logging.getLogger(__name__)

WANTED_DESCRIPTORS = 65536


def raise_descriptor_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
    """Raise the soft limit to `wanted`, or as far as the hard limit allows; answers what holds now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= target:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
    except (OSError, ValueError) as error:
        logger.warning("the limit of %d descriptors could not be raised: %s", soft, error)
        return soft
    return target
